"""What the sidecar's process says of a wave, and what of it is believed."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Base64Bytes, BaseModel, Field

from oospec_async.events import Event
from oospec_async.runtime.ports import WaveReport

_Count = Annotated[int, Field(strict=True, ge=0, lt=1 << 63)]


class _Event(BaseModel):
    track: Literal["sidecar", "channel"]
    name: str
    start_ns: _Count
    end_ns: _Count
    request: str
    data: dict[str, _Count]


class _Payload(BaseModel):
    version: Annotated[int, Field(strict=True, ge=1, lt=1 << 32)]
    payload: Base64Bytes


class WorkerReport(BaseModel):
    """How a wave went; nothing else that a worker says of it is believed."""

    start_ns: _Count
    end_ns: _Count
    cancelled: bool
    error: str
    events: list[_Event]
    hints: list[_Payload] = []

    def believed(self) -> WaveReport:
        """Raises ValueError where time runs backwards."""
        times = [self.start_ns, *(time for e in self.events for time in (e.start_ns, e.end_ns)), self.end_ns]
        if times != sorted(times):
            raise ValueError("time runs backwards")
        events = tuple(Event(e.track, e.name, e.start_ns, e.end_ns, e.request, "", dict(e.data)) for e in self.events)
        payloads = tuple((hint.version, hint.payload) for hint in self.hints)
        return WaveReport(self.start_ns, self.end_ns, self.cancelled, events, self.error, payloads)
