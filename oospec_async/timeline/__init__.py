"""The timeline of a run, from its events to a file to look at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from oospec_async.errors import OospecError
from oospec_async.events import Event
from oospec_async.files.writing import check_writable, write_atomically
from oospec_async.timeline.chrome import chrome_json
from oospec_async.timeline.html import page

__all__ = ["check_timeline_path", "write_timeline"]

_FORMATS: dict[str, Callable[[Sequence[Event], str], str]] = {".html": page, ".json": chrome_json}


def check_timeline_path(path: Path) -> None:
    """Say before a long run what would keep its timeline from being written after it.

    Raises OospecError if the suffix is neither ``.html`` nor ``.json``, if ``path`` is a directory, or if its folder
    is missing or cannot be written to.
    """
    _format(path)
    check_writable(path, "timeline")


def write_timeline(events: Sequence[Event], path: Path, title: str) -> None:
    """Write the events' timeline: a self-contained web page (``.html``) or Chrome trace events (``.json``).

    ``title`` heads the page and should say what the times were measured on. Raises OospecError if the suffix is
    neither of the two or the file cannot be written.
    """
    write_atomically(path, _format(path)(events, title), "timeline")


def _format(path: Path) -> Callable[[Sequence[Event], str], str]:
    form = _FORMATS.get(path.suffix.lower())
    if form is None:
        raise OospecError(
            f"timeline {path}: name a file that ends in .html (a web page) or .json (Chrome trace events)"
        )
    return form
