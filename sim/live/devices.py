"""Devices on the virtual clock: one forward after another, or a forward of each model at once.

A forward is asked for at the present nanosecond; ``done`` is told its begin and end, in ns, when it ends.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

from sim.live.clock import VirtualClock
from sim.replay.timetable import Rank
from sim.scenario.placement import Layout

Model = Literal["target", "sidecar"]
Done = Callable[[int, int], None]

_ROUNDING = 1e-6  # ns of work that are none: what rounding leaves over must not cost a whole nanosecond


class VirtualDevice(Protocol):
    def ask(self, model: Model, ns: int, done: Done) -> None: ...


class Queueing:
    """First come, first served; what was asked for is run."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock
        self._free = 0  # when all that was asked for will have ended

    def ask(self, model: Model, ns: int, done: Done) -> None:
        begin = max(self._clock(), self._free)
        self._free = end = begin + ns
        self._clock.at(end, Rank.ENDS, lambda: done(begin, end))


@dataclass
class _Job:
    begin: int
    left: float  # ns of work, if it were alone
    done: Done


class Together:
    """A forward of each model at once, each slowed by its factor while there are two."""

    def __init__(self, clock: VirtualClock, slowdown: tuple[float, float]) -> None:
        self._clock = clock
        self._factors: dict[Model, float] = {"target": slowdown[0], "sidecar": slowdown[1]}
        self._jobs: dict[Model, _Job] = {}
        self._since = 0  # up to when work is counted
        self._outlook = 0  # older plans of what ends next are void

    def ask(self, model: Model, ns: int, done: Done) -> None:
        self._count()
        self._jobs[model] = _Job(self._clock(), float(ns), done)
        self._plan()

    def _factor(self, model: Model) -> float:
        return self._factors[model] if len(self._jobs) == 2 else 1.0

    def _count(self) -> None:
        passed = self._clock() - self._since
        self._since = self._clock()
        for model, job in self._jobs.items():
            job.left -= passed / self._factor(model)

    def _plan(self) -> None:
        self._outlook += 1
        outlook = self._outlook
        if not self._jobs:
            return
        rest = {m: max(0, math.ceil(job.left * self._factor(m) - _ROUNDING)) for m, job in self._jobs.items()}
        soonest = min(rest.values())
        ending: list[Model] = [model for model, ns in rest.items() if ns == soonest]
        self._clock.at(self._clock() + soonest, Rank.ENDS, lambda: self._end(outlook, ending))

    def _end(self, outlook: int, ending: list[Model]) -> None:
        if outlook != self._outlook:
            return
        self._count()
        ended = [self._jobs.pop(model) for model in ending]
        self._plan()
        for job in ended:
            job.done(job.begin, self._clock())


def build(clock: VirtualClock, layout: Layout, *, waves: bool) -> tuple[VirtualDevice, VirtualDevice]:
    """Of the target and of the sidecar: one where they share it. Without ``waves`` there is nothing to share."""
    return _SHARING[layout.sharing if waves else "alone"](clock, layout)


def _alone(clock: VirtualClock, layout: Layout) -> tuple[VirtualDevice, VirtualDevice]:
    return Queueing(clock), Queueing(clock)


def _serial(clock: VirtualClock, layout: Layout) -> tuple[VirtualDevice, VirtualDevice]:
    return (device := Queueing(clock)), device


def _fair(clock: VirtualClock, layout: Layout) -> tuple[VirtualDevice, VirtualDevice]:
    return (device := Together(clock, layout.slowdown)), device


_SHARING: dict[str, Callable[[VirtualClock, Layout], tuple[VirtualDevice, VirtualDevice]]] = {
    "alone": _alone,
    "serial": _serial,
    "fair": _fair,
}
