"""The timeline of a run, from its events to a file to look at."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Sequence
from pathlib import Path

from oospec_async.errors import OospecError
from oospec_async.runtime.recorder import Event
from oospec_async.timeline.chrome import chrome_json
from oospec_async.timeline.colours import DRAFTER_COLOURS
from oospec_async.timeline.html import page

__all__ = ["DRAFTER_COLOURS", "check_timeline_path", "write_timeline"]

_FORMATS: dict[str, Callable[[Sequence[Event], str], str]] = {".html": page, ".json": chrome_json}


def check_timeline_path(path: Path) -> None:
    """Says before a long run what would keep its timeline from being written afterwards.

    Raises OospecError if the suffix is neither ``.html`` nor ``.json``, if ``path`` is a directory, or if its folder
    is missing or cannot be written to.
    """
    _format(path)
    folder = path.parent
    try:
        if path.is_dir():
            raise OospecError(f"timeline {path}: is a directory; name a file in it")
        if not folder.is_dir():
            raise OospecError(f"timeline {path}: there is no folder {folder}; make it first")
    except OSError as error:
        raise OospecError(f"timeline {path}: {error.strerror}") from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise OospecError(f"timeline {path}: the folder {folder} cannot be written to")


def write_timeline(events: Sequence[Event], path: Path, title: str) -> None:
    """Writes the events' timeline: a self-contained web page (``.html``) or Chrome trace events (``.json``).

    ``title`` heads the page and should say what the times were measured on. The file appears whole or not at all; one
    that was there before is replaced. Raises OospecError if the suffix is neither of the two or the file cannot be
    written.
    """
    text = _format(path)(events, title)
    draft = path.parent / f".{secrets.token_hex(8)}.tmp"
    try:
        try:
            # A lone surrogate in a name must not cost the whole file.
            draft.write_bytes(text.encode("utf-8", "backslashreplace"))
            os.replace(draft, path)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as error:
        raise OospecError(f"timeline {path}: cannot be written: {error.strerror or error}") from error


def _format(path: Path) -> Callable[[Sequence[Event], str], str]:
    form = _FORMATS.get(path.suffix.lower())
    if form is None:
        raise OospecError(
            f"timeline {path}: name a file that ends in .html (a web page) or .json (Chrome trace events)"
        )
    return form
