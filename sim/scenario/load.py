"""When requests arrive. A load is one class in ``LOADS``, written as ``closed`` or ``poisson:rate=2``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Protocol

import numpy as np

from sim.costs.nanoseconds import NS
from sim.scenario.parameters import parse, within


class Load(Protocol):
    """Frozen dataclass; its fields are the parameters."""

    name: ClassVar[str]
    about: ClassVar[str]

    def arrivals(self, recorded: Sequence[int], seed: int) -> list[int] | None:
        """When each request arrives, in ns after the first; None: as soon as a target is free.

        ``recorded``: when each arrived in the trace, in ns; the first at any time, as in a part of a longer run.
        """
        ...

    def doubt(self, recorded: Sequence[int]) -> str | None:
        """What a reader must know about arrivals that were made from these, if anything."""
        ...


@dataclass(frozen=True)
class Closed:
    name: ClassVar[str] = "closed"
    about: ClassVar[str] = "each target takes the next request when it is through with one"

    def arrivals(self, recorded: Sequence[int], seed: int) -> None:
        return None

    def doubt(self, recorded: Sequence[int]) -> None:
        return None


@dataclass(frozen=True)
class Poisson:
    """``rate`` in requests per second, over all targets."""

    name: ClassVar[str] = "poisson"
    about: ClassVar[str] = "requests arrive at random and queue for the targets"

    rate: Annotated[float, within(1e-4, 1e6)]

    def arrivals(self, recorded: Sequence[int], seed: int) -> list[int]:
        gaps = np.random.default_rng([seed, 0x10AD]).exponential(NS / self.rate, len(recorded))
        arrivals: list[int] = np.rint(np.cumsum(gaps)).astype(np.int64).tolist()
        return [ns - arrivals[0] for ns in arrivals]

    def doubt(self, recorded: Sequence[int]) -> None:
        return None


@dataclass(frozen=True)
class Recorded:
    """Arrivals of the trace, the same for every method; ``speed`` 2 brings them twice as fast."""

    name: ClassVar[str] = "recorded"
    about: ClassVar[str] = "requests arrive as they did in the trace and queue for the targets"

    speed: Annotated[float, within(1e-6, 1e6)] = 1.0

    def arrivals(self, recorded: Sequence[int], seed: int) -> list[int]:
        first = min(recorded)
        return [round((ns - first) / self.speed) for ns in recorded]

    def doubt(self, recorded: Sequence[int]) -> str | None:
        if len(recorded) < 2 or len(set(recorded)) > 1:
            return None
        return "load: the trace has no arrivals (all requests have the same); all arrive at once"


LOADS: dict[str, type[Load]] = {load.name: load for load in (Closed, Poisson, Recorded)}


def parse_load(text: str) -> Load:
    """``NAME`` or ``NAME:KEY=VALUE``. Raises OospecError for an unknown name, key or value."""
    return parse(text, LOADS, "load")
