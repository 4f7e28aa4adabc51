"""What the parent and the sidecar's process say to each other: one JSON line for each message.

The parent is believed. Of what a worker says, only what has the right form is believed: it may lie, and it may be
killed in the middle of a line.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, Field, TypeAdapter, model_validator

from oospec_async.devices import Device
from oospec_async.events import Event, WaveReport
from oospec_async.request import Request

_Count = Annotated[int, Field(strict=True, ge=0, lt=1 << 63)]


class Message(BaseModel):
    """A message as a line of ASCII: also a path that is no UTF-8, and a lone surrogate in a request, get through."""

    def line(self) -> str:
        return json.dumps(self.model_dump(mode="json")) + "\n"


# --- to the worker


@dataclass(frozen=True)
class SidecarConfig:
    """Which model a worker is to load, and where."""

    path: Path
    name: str
    device: Device
    dtype: str
    adapter: Path | None = None


class Startup(Message):
    """The worker's one argument. ``channel``: a file descriptor of the shared memory; ``parent``: a process id."""

    config: SidecarConfig
    channel: int
    parent: int


class Job(Message):
    """Run a wave. Serials ascend."""

    serial: int
    reuse: bool
    request: Request


class Cancel(Message):
    """End the wave with this serial."""

    cancel: int


_JOBS: TypeAdapter[Job | Cancel] = TypeAdapter(Job | Cancel)


def read_startup(argument: str) -> Startup:
    return Startup.model_validate(json.loads(argument))


def read_job(line: str) -> Job | Cancel:
    return _JOBS.validate_python(json.loads(line))


# --- from the worker


class Ready(Message):
    """The model is loaded. ``ready``: the worker's process id."""

    ready: int


class Fatal(Message):
    """The model cannot be had: why, in one line."""

    fatal: str


class ReportedEvent(BaseModel):
    """An ``Event`` of a worker, which knows of no method."""

    track: Literal["sidecar", "channel"]
    name: str
    start_ns: _Count
    end_ns: _Count
    request: str
    data: dict[str, _Count]


class PublishedHint(BaseModel):
    """A hint's payload as it was published; it is UTF-8."""

    version: Annotated[int, Field(strict=True, ge=1, lt=1 << 32)]
    payload: bytes


class Report(Message):
    """How a wave went. Times are monotonic nanoseconds, and none is before the one that it follows."""

    serial: Annotated[int, Field(strict=True)]
    start_ns: _Count
    end_ns: _Count
    cancelled: bool
    error: str
    events: list[ReportedEvent]
    hints: list[PublishedHint] = []

    @model_validator(mode="after")
    def _time_ascends(self) -> Self:
        times = [self.start_ns, *(time for e in self.events for time in (e.start_ns, e.end_ns)), self.end_ns]
        if times != sorted(times):
            raise ValueError("time runs backwards")
        return self

    def believed(self) -> WaveReport:
        events = tuple(Event(e.track, e.name, e.start_ns, e.end_ns, e.request, "", dict(e.data)) for e in self.events)
        payloads = tuple((hint.version, hint.payload) for hint in self.hints)
        return WaveReport(self.start_ns, self.end_ns, self.cancelled, events, self.error, payloads)


_SAID: TypeAdapter[Ready | Fatal | Report] = TypeAdapter(Ready | Fatal | Report)


def read_said(line: bytes) -> Ready | Fatal | Report | None:
    """What a worker said; None where it is no message. Never raises."""
    try:
        return _SAID.validate_json(line)
    except ValueError:
        return None
