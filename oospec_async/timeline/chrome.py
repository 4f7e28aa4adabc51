"""A run as Chrome trace events, for Perfetto and other trace viewers."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import get_args

from oospec_async.events import Event, Track
from oospec_async.request import Json
from oospec_async.timeline.runs import Run, runs_of

_TRACKS: tuple[Track, ...] = get_args(Track)
_PIDS = 100  # between two process ids: viewers look threads up by their id alone, so none may equal another's or a pid


def chrome_json(events: Sequence[Event], title: str) -> str:
    """The trace as JSON text: a process for every request and method, a thread for every track, times in microseconds
    since the earliest event, and a flow arrow from each publish to the poll that found it."""
    origin = min((event.start_ns for event in events), default=0)
    names: list[dict[str, Json]] = []
    timed: list[dict[str, Json]] = []
    for number, run in enumerate(runs_of(events), start=1):
        names += _names(run, number * _PIDS, number)
        timed += _timed(run, number * _PIDS, origin, flow=len(timed))
    # Stable: a flow event stays behind the instant it binds to.
    timed.sort(key=lambda entry: entry["ts"])
    return json.dumps(
        {"displayTimeUnit": "ms", "otherData": {"title": title}, "traceEvents": names + timed}, separators=(",", ":")
    )


def _names(run: Run, pid: int, position: int) -> list[dict[str, Json]]:
    entries = [
        _meta("process_name", pid, pid, name=f"{run.request} · {run.method}"),
        _meta("process_sort_index", pid, pid, sort_index=position),
    ]
    for index, track in enumerate(_TRACKS):
        if run.on(track):
            entries.append(_meta("thread_name", pid, pid + 1 + index, name=track))
            entries.append(_meta("thread_sort_index", pid, pid + 1 + index, sort_index=index))
    return entries


def _meta(kind: str, pid: int, tid: int, **args: Json) -> dict[str, Json]:
    return {"ph": "M", "name": kind, "pid": pid, "tid": tid, "args": args}


def _timed(run: Run, pid: int, origin: int, flow: int) -> list[dict[str, Json]]:
    entries: list[dict[str, Json]] = []
    flows: dict[int, list[dict[str, Json]]] = {}  # by the identity of the event they bind to
    for number, (publish, poll) in enumerate(run.handovers(), start=flow):
        for event, kind in ((publish, {"ph": "s"}), (poll, {"ph": "f", "bp": "e"})):
            flows.setdefault(id(event), []).append({"name": "hint", "cat": "channel", "id": number, **kind})
    for event in run.events:
        place = {"ts": _us(event.start_ns - origin), "pid": pid, "tid": pid + 1 + _TRACKS.index(event.track)}
        shape: dict[str, Json] = {"ph": "i", "s": "t"}
        if event.track != "channel":
            shape = {"ph": "X", "dur": _us(max(event.end_ns - event.start_ns, 0))}
        entries.append({"name": event.name, "cat": event.track, **shape, **place, "args": event.data})
        entries += [{**entry, **place} for entry in flows.get(id(event), [])]
    return entries


def _us(ns: int) -> float:
    """Microseconds that a viewer turns back into exactly ``ns``: one nanosecond too few makes two boxes that touch
    overlap, and viewers drop a box that overlaps another."""
    us = ns / 1000
    return us if int(us * 1000) == ns else math.nextafter(us, math.inf)
