"""Every event of a run, with monotonic times: what timelines and traces are made from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from oospec_async.request import Json

Track = Literal["target", "host", "channel", "sidecar"]


@dataclass(frozen=True)
class Event:
    """Something that took from ``start_ns`` to ``end_ns`` (equal for an instant) on the machine's monotonic clock.

    Tracks and names: target ``prefill``, ``verify``; host ``draft``, ``commit``; channel ``publish``, ``poll`` (one
    that found a new hint); sidecar ``prefill``, ``step``. ``data`` holds counts such as ``tokens`` and ``version``.
    """

    track: Track
    name: str
    start_ns: int
    end_ns: int
    request: str
    method: str  # empty for what a sidecar reports: it does not know
    data: dict[str, Json] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        return (self.end_ns - self.start_ns) / 1e9


class Recorder:
    """Collects events, at the cost of an append each; an engine that serves for days keeps none."""

    def __init__(self, *, keep: bool) -> None:
        self.events: list[Event] = []
        self._keep = keep

    def add(self, event: Event) -> None:
        if self._keep:
            self.events.append(event)
