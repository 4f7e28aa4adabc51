"""Every event of a run, with monotonic times, and what was decoded: what timelines and traces are made from."""

from __future__ import annotations

from dataclasses import dataclass

from oospec_async.events import Event
from oospec_async.hints import Hint
from oospec_async.recording.profile import Decode


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
