"""The link from sidecar to target: how long a message is on its way."""

from __future__ import annotations

from dataclasses import dataclass

from sim.costs.nanoseconds import NS


@dataclass(frozen=True)
class Link:
    """``latency`` in seconds (None: as recorded), ``bandwidth`` in bytes per second (None: no limit)."""

    latency: float | None = None
    bandwidth: float | None = None

    def delay_ns(self, size: int, recorded_ns: int) -> int:
        latency = recorded_ns if self.latency is None else round(self.latency * NS)
        return latency + (round(size / self.bandwidth * NS) if self.bandwidth is not None else 0)
