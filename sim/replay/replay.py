"""The simulation proper: SimPy processes for arrivals, targets and waves, over devices and links.

A target serves one request at a time, as the live engine does. In the order of the live engine: the wave is launched,
the prefill runs, its token is committed, and then round after round: poll, draft, verify, commit. A wave ends when it
is through, or when its request's decode has ended and its current forward is done; nothing is preempted. A sidecar
runs one wave at a time; waves queue for a free one in the order of their launch.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import Any

import simpy

from sim.replay.devices import Clock, Device, Devices, Moment, build
from sim.replay.mailbox import Mailbox
from sim.replay.timetable import Forward, Rank, Timetable
from sim.scenario.link import Link
from sim.scenario.placement import Layout

Process = Generator[simpy.Event, Any, None]
Law = Callable[[int], int]


@dataclass(frozen=True, slots=True)
class RoundLog:
    position: int  # tokens committed before it
    version: int  # of the hint
    start: int
    end: int
    tokens: int
    accepted: int
    committed: int


@dataclass(slots=True)
class WaveLog:
    launched: int
    forwards: Sequence[Forward]
    ns: Sequence[int]  # that they take here, undisturbed
    sidecar: str = ""  # the device; empty: it never got one
    spans: list[tuple[int, int]] = field(default_factory=list)
    publishes: list[tuple[int, int, int]] = field(default_factory=list)  # version, published, readable


@dataclass(slots=True)
class Served:
    """What happened to a request. All times in ns since the start of the run."""

    timetable: Timetable
    target: str  # device
    arrival: int
    start: int  # when a target took it
    prefill: tuple[int, int] = (0, 0)
    first_token: int = 0
    end: int = 0
    rounds: list[RoundLog] = field(default_factory=list)
    polls: list[tuple[int, int, int]] = field(default_factory=list)  # those that found a hint: time, position, version
    wave: WaveLog | None = None
    over: bool = False


@dataclass(frozen=True)
class Replay:
    """Requests in the order of the timetables, and what served them."""

    served: tuple[Served, ...]
    devices: Devices

    @property
    def makespan(self) -> int:
        return max(served.end for served in self.served)


@dataclass(frozen=True)
class Setting:
    """What is not in the timetables."""

    layout: Layout
    link: Link
    targets: int = 1
    sidecars: int = 1
    scale_sidecar: float = 1.0


def replay(timetables: Sequence[Timetable], setting: Setting, arrivals: Sequence[int] | None = None) -> Replay:
    """Serve every timetable once. ``arrivals`` of each, in ns; None: each target takes the next when it is free."""
    return _World(timetables, setting, arrivals).run()


class _World:
    def __init__(self, timetables: Sequence[Timetable], setting: Setting, arrivals: Sequence[int] | None) -> None:
        self._env = env = Clock()
        self._timetables, self._arrivals, self._link = timetables, arrivals, setting.link
        sidecars = setting.sidecars if any(timetable.wave for timetable in timetables) else 0
        self._devices = build(env, setting.layout, setting.targets, sidecars)
        self._target_law: Law = setting.layout.target if sidecars else setting.layout.target_alone
        self._sidecar_law: Law = setting.layout.sidecar.faster(setting.scale_sidecar)
        self._queue = simpy.Store(env)
        self._pools = [simpy.Store(env) for _ in self._devices.pools]
        for store, pool in zip(self._pools, self._devices.pools, strict=True):
            store.items.extend(pool)
        self._served: dict[int, Served] = {}

    def run(self) -> Replay:
        self._env.process(self._arrive())
        for index, device in enumerate(self._devices.targets):
            pool = self._pools[self._devices.pool_of[index]] if self._pools else None
            self._env.process(self._target(device, pool))
        self._env.run()
        served = tuple(self._served[index] for index in range(len(self._timetables)))
        return Replay(served, self._devices)

    def _arrive(self) -> Process:
        if self._arrivals is None:
            self._queue.items.extend(range(len(self._timetables)))
            return
        for index in sorted(range(len(self._timetables)), key=lambda i: (self._arrivals[i], i)):  # type: ignore[index]
            yield self._env.timeout(self._arrivals[index] - self._env.ns)
            self._queue.put(index)

    def _target(self, device: Device, pool: simpy.Store | None) -> Process:
        while True:
            index = yield self._queue.get()
            assert isinstance(index, int)
            now = self._env.ns
            arrival = now if self._arrivals is None else self._arrivals[index]
            served = Served(self._timetables[index], device.name, arrival, now)
            self._served[index] = served
            yield from self._serve(served, device, pool)

    def _serve(self, served: Served, device: Device, pool: simpy.Store | None) -> Process:
        env, timetable, law, mailbox = self._env, served.timetable, self._target_law, Mailbox()
        if timetable.wave is not None and pool is not None:
            launch = max(0, timetable.before_ns + timetable.wave.start_ns)
            forwards = timetable.wave.forwards
            served.wave = WaveLog(served.start + launch, forwards, [self._sidecar_law(each.ns) for each in forwards])
            env.process(self._wave(served, served.wave, launch, pool, mailbox))
        served.prefill = yield device.run("target", timetable.before_ns, law(timetable.prefill_ns))
        position, version, listens = 1, timetable.version, timetable.listens
        yield Moment(env).come(timetable.commit_ns[0], Rank.POLL)
        served.first_token = env.ns
        while position < timetable.output:
            if listens and (newest := mailbox.poll(env.ns)) > version:
                version = newest
                served.polls.append((env.ns, position, version))
            here, at = timetable.rounds[version], position - 1
            accepted = here.accepted[at]
            start, end = yield device.run("target", timetable.draft_ns[at], law(here.verify_ns[at]))
            committed = min(accepted + 1, timetable.output - position)
            served.rounds.append(RoundLog(position, version, start, end, here.tokens[at], accepted, committed))
            position += committed
            yield Moment(env).come(timetable.commit_ns[position - 1], Rank.POLL)
        served.end, served.over = env.ns, True

    def _wave(self, served: Served, log: WaveLog, launch: int, pool: simpy.Store, mailbox: Mailbox) -> Process:
        yield Moment(self._env).come(launch, Rank.ENDS)
        device = yield pool.get()
        if not served.over:
            log.sidecar = device.name
            yield from self._forwards(served, log, device, mailbox)
        pool.put(device)

    def _forwards(self, served: Served, log: WaveLog, device: Device, mailbox: Mailbox) -> Process:
        timetable = served.timetable
        for forward, ns in zip(log.forwards, log.ns, strict=True):
            if served.over:
                return
            span = yield device.run("sidecar", 0, ns)
            log.spans.append(span)
            if forward.publishes:
                now = self._env.ns
                delay = self._link.delay_ns(timetable.hints[forward.publishes].bytes, timetable.link_ns)
                log.publishes.append((forward.publishes, now, mailbox.publish(now, delay, forward.publishes)))
