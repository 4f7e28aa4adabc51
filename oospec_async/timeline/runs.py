"""Events sorted into runs: one request under one method."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from oospec_async.events import Event, Track
from oospec_async.request import Json


@dataclass(frozen=True)
class Run:
    """The events of one request under one method, by start."""

    request: str
    method: str
    events: tuple[Event, ...]

    def named(self, track: Track, name: str) -> list[Event]:
        return [event for event in self.events if event.track == track and event.name == name]

    def on(self, track: Track) -> list[Event]:
        return [event for event in self.events if event.track == track]

    @property
    def zero_ns(self) -> int:
        """When the target's prefill began; where none was recorded, the earliest event."""
        return next(iter(self.named("target", "prefill")), self.events[0]).start_ns

    @property
    def end_ns(self) -> int:
        """When the request's last token was committed; a sidecar that was still running does not count."""
        ends = [event.end_ns for event in self.events if event.track in ("target", "host")]
        return max(ends or [event.end_ns for event in self.events])

    @property
    def committed(self) -> int:
        """Tokens committed by the rounds."""
        return sum(count(event, "committed") for event in self.named("target", "verify"))

    def handovers(self) -> list[tuple[Event, Event]]:
        """Each publish that was picked up, with the poll that found it."""
        published = self.named("channel", "publish")
        pairs = []
        for poll in self.named("channel", "poll"):
            # A version number may come again in a later wave of the same request: the newest before the poll is meant.
            found = [p for p in published if p.start_ns <= poll.start_ns and _version(p) == _version(poll)]
            if found:
                pairs.append((found[-1], poll))
        return pairs


def runs_of(events: Sequence[Event]) -> list[Run]:
    """The runs: requests, and methods within each, in the order in which either first appears in ``events``."""
    requests = list(dict.fromkeys(event.request for event in events))
    methods = list(dict.fromkeys(event.method for event in events))
    grouped: dict[tuple[str, str], list[Event]] = {}
    for event in events:
        grouped.setdefault((event.request, event.method), []).append(event)
    return [
        Run(request, method, tuple(sorted(grouped[request, method], key=lambda event: event.start_ns)))
        for request in requests
        for method in methods
        if (request, method) in grouped
    ]


def by_request(events: Sequence[Event]) -> list[tuple[str, list[Run]]]:
    """The runs of each request."""
    return [(request, list(runs)) for request, runs in groupby(runs_of(events), key=lambda run: run.request)]


def count(event: Event, key: str) -> int:
    """A count out of an event's data; 0 where it is missing or not a number."""
    value = event.data.get(key)
    return int(value) if isinstance(value, int | float) else 0


def drafted_by(event: Event) -> list[str]:
    """The drafters of a round's accepted tokens, in order and without the target's own."""
    sources: Json = event.data.get("sources")
    return [str(source) for source in sources if source] if isinstance(sources, list | tuple) else []


def _version(event: Event) -> Json:
    return event.data.get("version")
