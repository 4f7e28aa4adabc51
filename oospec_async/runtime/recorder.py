"""Every event of a run, with monotonic times, and what was decoded: what timelines and traces are made from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from oospec_async.hints import Hint
from oospec_async.profile import Decode
from oospec_async.request import Json

Track = Literal["target", "host", "channel", "sidecar"]


@dataclass(frozen=True)
class Event:
    """Something that took from ``start_ns`` to ``end_ns`` (equal for an instant) on the machine's monotonic clock.

    Tracks and names: target ``prefill``, ``verify``, ``chain`` (of the draft model on its device); host ``draft``,
    ``commit``; channel ``publish``, ``poll`` (one that found a new hint); sidecar ``prefill``, ``step``. ``data`` holds
    counts such as ``tokens`` and ``version``.
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


@dataclass(frozen=True)
class Served:
    """A request that was served to its end. Times as in events.

    ``hints``: every published one that is known, polled or not, as the target's side reads it; versions ascend.
    """

    request: str
    method: str
    arrival_ns: int  # it was handed to the engine
    start_ns: int  # its turn came
    decode: Decode
    hints: tuple[Hint, ...]


class Recorder:
    """Collects events, at the cost of an append each; an engine that serves for days keeps none."""

    def __init__(self, *, keep: bool) -> None:
        self.events: list[Event] = []
        self.served: list[Served] = []
        self._keep = keep

    def add(self, event: Event) -> None:
        if self._keep:
            self.events.append(event)

    def serve(self, served: Served) -> None:
        if self._keep:
            self.served.append(served)
