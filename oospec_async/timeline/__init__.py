"""The timeline of a run, from its events to a file to look at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from oospec_async.drawing.picture import IMAGES, check_image, write_picture
from oospec_async.errors import OospecError
from oospec_async.events import Event
from oospec_async.files.writing import check_writable, write_atomically
from oospec_async.timeline.chrome import chrome_json
from oospec_async.timeline.figure import figure
from oospec_async.timeline.page import page
from oospec_async.timeline.runs import Run, by_request

__all__ = ["check_timeline_path", "write_timeline"]

_FORMATS: dict[str, Callable[[Sequence[Event], str], str]] = {".html": page, ".json": chrome_json}


def check_timeline_path(path: Path) -> None:
    """Say before a long run what would keep its timeline from being written after it.

    Raises OospecError if the suffix is none of those of ``write_timeline``, if nothing can draw an image, if ``path``
    is a directory, or if its folder is missing or cannot be written to.
    """
    suffix = path.suffix.lower()
    if suffix not in _FORMATS and suffix not in IMAGES:
        raise OospecError(
            f"timeline {path}: name a file that ends in .html (a web page), .json (Chrome trace events), "
            f"or {' or '.join(IMAGES)} (an image of one request)"
        )
    check_image(path, "timeline")
    check_writable(path, "timeline")


def write_timeline(events: Sequence[Event], path: Path, title: str) -> None:
    """Write the events' timeline: a self-contained web page (``.html``), Chrome trace events (``.json``), or an image
    (``.svg``, ``.png``) of one request, where there are several the one with the median gain.

    ``title`` heads the page and should say what the times were measured on. Raises OospecError as
    ``check_timeline_path``, or if the file cannot be written.
    """
    check_timeline_path(path)
    form = _FORMATS.get(path.suffix.lower())
    if form is not None:
        write_atomically(path, form(events, title), "timeline")
    elif events:
        write_picture(figure(_typical(events)), path, "timeline", title)
    else:
        raise OospecError(f"timeline {path}: no events were recorded, so there is nothing to draw")


def _typical(events: Sequence[Event]) -> list[Run]:
    """The runs of the request whose slowest run takes so many times as long as its fastest as half of them do."""
    requests = [runs for _, runs in by_request(events)]
    ordered = sorted(requests, key=lambda runs: max(map(_took, runs)) / max(min(map(_took, runs)), 1))
    return ordered[(len(ordered) - 1) // 2]


def _took(run: Run) -> int:
    return run.end_ns - run.zero_ns
