"""What happened while a request was served, and when: timelines, traces and metrics are made from events."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

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
class WaveReport:
    """How a wave went. Times are monotonic nanoseconds; ``events`` are those of the sidecar's process.

    ``payloads``: published hints by version, also those that no poll has found; for recording only.
    """

    start_ns: int
    end_ns: int
    cancelled: bool
    events: tuple[Event, ...] = ()
    error: str = ""
    payloads: tuple[tuple[int, bytes], ...] = ()
