"""Devices in simulated time: one forward after another, or two models at once on one device."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

import simpy
from simpy.events import EventPriority

from sim.replay.timetable import Rank
from sim.scenario.placement import Layout

Model = Literal["target", "sidecar"]
Span = tuple[int, int]  # a forward's begin and end, in ns

_ASKS: dict[Model, Rank] = {"target": Rank.TARGET_ASKS, "sidecar": Rank.SIDECAR_ASKS}


class Clock(simpy.Environment):
    """Simulated time in whole nanoseconds."""

    @property
    def ns(self) -> int:
        return int(self._now)


class Moment(simpy.Event):
    """An event whose place among others at the same nanosecond is its rank."""

    def come(self, delay: int, rank: Rank, value: object = None) -> Moment:
        """Let it happen ``delay`` ns from now."""
        self._ok, self._value = True, value
        self.env.schedule(self, EventPriority(rank), delay)
        return self

    def then(self, action: Callable[[], None]) -> None:
        self.callbacks.append(lambda _: action())


class Device(Protocol):
    name: str

    def run(self, model: Model, after: int, ns: int) -> simpy.Event:
        """A forward of ``ns``, asked for ``after`` ns from now. The event comes at its end; its value is its span."""
        ...


class Serial:
    """Forwards queue in the order in which they are asked for; one that was asked for is run. One user never waits."""

    def __init__(self, env: Clock, name: str) -> None:
        self.name = name
        self._env = env
        self._free = 0  # when the last forward ends that was asked for

    def run(self, model: Model, after: int, ns: int) -> simpy.Event:
        done = Moment(self._env)
        Moment(self._env).come(after, _ASKS[model]).then(lambda: self._queue(ns, done))
        return done

    def _queue(self, ns: int, done: Moment) -> None:
        begin = max(self._env.ns, self._free)
        self._free = begin + ns
        done.come(self._free - self._env.ns, Rank.ENDS, (begin, self._free))


@dataclass
class _Job:
    begin: int
    left: float  # ns of work alone
    done: Moment


class Fair:
    """A forward of each model at once; while there are two, each takes ``slowdown`` times as long."""

    def __init__(self, env: Clock, name: str, slowdown: tuple[float, float]) -> None:
        self.name = name
        self._env = env
        self._slowdown: dict[Model, float] = {"target": slowdown[0], "sidecar": slowdown[1]}
        self._jobs: dict[Model, _Job] = {}
        self._since = 0
        self._plan = 0  # only the newest plan counts

    def run(self, model: Model, after: int, ns: int) -> simpy.Event:
        done = Moment(self._env)
        Moment(self._env).come(after, _ASKS[model]).then(lambda: self._begin(model, ns, done))
        return done

    def _begin(self, model: Model, ns: int, done: Moment) -> None:
        self._advance()
        self._jobs[model] = _Job(self._env.ns, ns, done)
        self._replan()

    def _advance(self) -> None:
        passed = self._env.ns - self._since
        for model, job in self._jobs.items():
            job.left -= passed / self._slow(model)
        self._since = self._env.ns

    def _slow(self, model: Model) -> float:
        return self._slowdown[model] if len(self._jobs) > 1 else 1.0

    def _replan(self) -> None:
        self._plan += 1
        if not self._jobs:
            return
        ends = {model: max(math.ceil(job.left * self._slow(model) - 1e-6), 0) for model, job in self._jobs.items()}
        first = min(ends.values())
        done: list[Model] = [model for model, end in ends.items() if end == first]
        plan = self._plan
        Moment(self._env).come(first, Rank.ENDS).then(lambda: self._finish(plan, done))

    def _finish(self, plan: int, done: list[Model]) -> None:
        if plan != self._plan:
            return
        self._advance()
        for model in done:
            job = self._jobs.pop(model)
            job.done.come(0, Rank.ENDS, (job.begin, self._env.ns))
        self._replan()


@dataclass(frozen=True)
class Devices:
    """Target devices, pools of sidecar devices, and which pool each target's waves go to."""

    targets: list[Device]
    pools: list[list[Device]]
    pool_of: list[int]

    @property
    def all(self) -> list[Device]:
        return list(dict.fromkeys([*self.targets, *(device for pool in self.pools for device in pool)]))


_SHARED: dict[str, Callable[[Clock, str, Layout], Device]] = {
    "serial": lambda env, name, layout: Serial(env, name),
    "fair": lambda env, name, layout: Fair(env, name, layout.slowdown),
}


def build(env: Clock, layout: Layout, targets: int, sidecars: int) -> Devices:
    """The devices of a layout; a device that only one model uses in this scenario is its own."""
    if layout.sharing == "alone" or not sidecars:
        alone: list[Device] = [Serial(env, f"target {n}") for n in range(targets)]
        pool: list[Device] = [Serial(env, f"sidecar {n}") for n in range(sidecars)]
        return Devices(alone, [pool], [0] * targets)
    make = _SHARED[layout.sharing]
    both = [make(env, f"target+sidecar {n}", layout) for n in range(targets)]
    return Devices(both, [[device] for device in both], list(range(targets)))
