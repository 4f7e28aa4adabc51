"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path

from oospec_async.errors import OospecError


def check_writable(path: Path, what: str) -> None:
    """Say before a long run what would keep a file from being written after it.

    Raises OospecError, beginning with ``what`` and the path: no regular file, or a folder missing or not writable.
    """
    try:
        folder = path.resolve().parent
        if path.exists() and not path.is_file():
            raise OospecError(f"{what} {path}: is no regular file; name another")
        if not folder.is_dir():
            raise OospecError(f"{what} {path}: there is no folder {folder}; make it first")
    except (OSError, RuntimeError) as error:  # RuntimeError: a loop of links
        raise OospecError(f"{what} {path}: {getattr(error, 'strerror', None) or error}") from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise OospecError(f"{what} {path}: the folder {folder} cannot be written to")


def check_outputs(inputs: Sequence[Path | None], outputs: Mapping[str, Path | None]) -> None:
    """Before any work: what could not be written after it, and what must not be written over.

    ``inputs``: every file that is read; ``outputs``: by option. Raises OospecError.
    """
    seen = [path for path in inputs if path is not None]
    for option, path in outputs.items():
        if path is None:
            continue
        if any(same_file(path, other) for other in seen):
            raise OospecError(f"{option} {path}: is read or written already; name another file")
        check_writable(path, option)
        seen.append(path)


def write_atomically(path: Path, content: str | bytes, what: str) -> None:
    """Write bytes, or text as UTF-8; a file that was there before is replaced, a link is followed.

    Raises OospecError if the file cannot be written; nothing half-written stays.
    """
    check_writable(path, what)
    target = path.resolve()
    draft = target.parent / f".{secrets.token_hex(8)}.tmp"
    try:
        try:
            # A lone surrogate in a name must not cost the whole file.
            draft.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "backslashreplace"))
            os.replace(draft, target)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as error:
        raise OospecError(f"{what} {path}: cannot be written: {error.strerror or error}") from error


def same_file(one: Path, other: Path) -> bool:
    """Whether two paths lead to one file, links followed, whether it exists or not."""
    try:
        return one.resolve() == other.resolve() or (one.exists() and other.exists() and one.samefile(other))
    except (OSError, RuntimeError):
        return False
