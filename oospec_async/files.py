"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from oospec_async.errors import OospecError


def check_writable(path: Path, what: str) -> None:
    """Say before a long run what would keep a file from being written after it.

    Raises OospecError, beginning with ``what`` and the path: a directory, or a folder missing or not writable.
    """
    folder = path.parent
    try:
        if path.is_dir():
            raise OospecError(f"{what} {path}: is a directory; name a file in it")
        if not folder.is_dir():
            raise OospecError(f"{what} {path}: there is no folder {folder}; make it first")
    except OSError as error:
        raise OospecError(f"{what} {path}: {error.strerror}") from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise OospecError(f"{what} {path}: the folder {folder} cannot be written to")


def write_atomically(path: Path, text: str, what: str) -> None:
    """Write UTF-8 text; a file that was there before is replaced. Raises OospecError if it cannot be written."""
    draft = path.parent / f".{secrets.token_hex(8)}.tmp"
    try:
        try:
            # A lone surrogate in a name must not cost the whole file.
            draft.write_bytes(text.encode("utf-8", "backslashreplace"))
            os.replace(draft, path)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as error:
        raise OospecError(f"{what} {path}: cannot be written: {error.strerror or error}") from error
