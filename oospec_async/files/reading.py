"""Whole files as bytes or text; what keeps one from being read is a line that names it."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

from oospec_async.errors import OospecError

_GZIP = b"\x1f\x8b"


def read_bytes(path: Path, what: str) -> bytes:
    """Raises OospecError: the file, ``what`` it should hold, and the reason."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise OospecError(f"{path}: cannot read {what}: {error.strerror}") from None


def read_unpacked(path: Path, what: str) -> bytes:
    """As ``read_bytes``; what is gzipped is unpacked, by its content: names get lost."""
    data = read_bytes(path, what)
    try:
        return gzip.decompress(data) if data.startswith(_GZIP) else data
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise OospecError(f"{path}: damaged gzip; fetch or make the file again") from None


def decoded(data: bytes, path: Path) -> str:
    """A file's bytes as text; editors on Windows begin files with a byte order mark. Raises OospecError."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise OospecError(f"{path}: not UTF-8 at byte {error.start}; save the file as UTF-8") from None
