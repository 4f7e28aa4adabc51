"""A replay as events, in the form in which the live engine records them: the same pictures can be drawn of both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from oospec_async.events import Event
from sim.figures.simulator import Result
from sim.replay.replay import RoundLog, Served

_OTHERS = "other drafters"


def events_of(results: Sequence[Result], requests: Sequence[str] | None = None) -> list[Event]:
    """``requests``: only these. Every result has a clock of its own, from the start of its run."""
    return [
        event
        for result in results
        for served in result.replay.served
        if requests is None or served.timetable.request in requests
        for event in _events(served, result.scenario.method)
    ]


def _events(served: Served, method: str) -> Iterator[Event]:
    timetable, request = served.timetable, served.timetable.request
    start, end = served.prefill
    yield Event("target", "prefill", start, end, request, method, {"tokens": timetable.prompt})
    committed, ended = 1, end
    for round_ in served.rounds:
        polled = ended + timetable.commit_ns[round_.position - 1]
        yield Event("host", "commit", ended, polled, request, method, {"tokens": committed})
        drafted = polled + timetable.draft_ns[round_.position - 1]
        yield Event("host", "draft", polled, drafted, request, method, {"tokens": round_.tokens - 1})
        yield Event("target", "verify", round_.start, round_.end, request, method, _verify(served, round_))
        committed, ended = round_.committed, round_.end
    yield Event("host", "commit", ended, served.end, request, method, {"tokens": committed})
    yield from _channel(served, method)
    yield from _sidecar(served, method)


def _verify(served: Served, round_: RoundLog) -> dict[str, object]:
    """A trace does not say which drafter a token came from: ``hint`` is what only the hint made acceptable."""
    rounds = served.timetable.rounds
    kept = round_.committed - 1
    without = min(kept, rounds[0].accepted[round_.position - 1]) if 0 in rounds and round_.version else kept
    return {
        "tokens": round_.tokens,
        "accepted": kept,
        "committed": round_.committed,
        "position": round_.position,
        "sources": [_OTHERS] * without + ["hint"] * (kept - without) + [""],
        "hint_version": round_.version,
    }


def _channel(served: Served, method: str) -> Iterator[Event]:
    hints, request = served.timetable.hints, served.timetable.request
    published = {version: time for version, time, _ in served.wave.publishes} if served.wave is not None else {}
    for version, time in published.items():
        data = {"version": version, "bytes": hints[version].bytes, "ready": hints[version].ready}
        yield Event("channel", "publish", time, time, request, method, data)
    for time, position, version in served.polls:
        data = {"version": version, "position": position, "bytes": hints[version].bytes}
        data |= {"ready": hints[version].ready, "published_ns": published[version]}
        yield Event("channel", "poll", time, time, request, method, data)


def _sidecar(served: Served, method: str) -> Iterator[Event]:
    if served.wave is None:
        return
    for forward, (start, end) in zip(served.wave.forwards, served.wave.spans, strict=False):
        counts = {"tokens": forward.tokens} if forward.name == "prefill" else {"branches": forward.branches}
        yield Event("sidecar", forward.name, start, end, served.timetable.request, method, counts)
