"""Timetables served one after another by the live engine on the virtual clock."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from oospec_async.completion import Completion
from oospec_async.decoding.drafters import needs_of
from oospec_async.decoding.drafters.needs import HINTS
from oospec_async.decoding.state import Setting
from oospec_async.decoding.tree import VerifyCurve
from oospec_async.errors import OospecError
from oospec_async.events import Event
from oospec_async.recording.recorder import RequestLog
from oospec_async.request import Message, Request
from oospec_async.runtime.engine import Engine
from oospec_async.runtime.parts import Parts
from oospec_async.sidecar.channel import MAX_PAYLOAD
from sim.live.clock import VirtualClock
from sim.live.devices import build
from sim.live.loop import run_virtually
from sim.live.payload import tool_of
from sim.live.sidecar import VirtualSidecar, VirtualWave
from sim.live.state import ProfileState
from sim.live.target import VirtualCodec, VirtualExecutor, VirtualPrompts, VirtualTarget
from sim.replay.timetable import Timetable
from sim.scenario.placement import Layout

_MOST_VERSIONS = (1 << 32) - 1  # what a message has room for


@dataclass(frozen=True)
class VirtualRun:
    """What the engine said of each timetable, and what happened: times in ns since the start of the run."""

    completions: tuple[Completion, ...]
    served: tuple[RequestLog, ...]
    events: tuple[Event, ...]
    waves: tuple[VirtualWave, ...]  # those that were launched


def serve(
    timetables: Sequence[Timetable], method: str, layout: Layout, done: Callable[[], object] = lambda: None
) -> VirtualRun:
    """Each request is taken when the one before has ended. ``done`` is called after each.

    Raises OospecError for a hint that no channel takes, and for timetables with hints of a method that takes none.
    """
    _check(timetables, method)
    clock = VirtualClock()
    waves = any(timetable.wave is not None for timetable in timetables)
    device, other = build(clock, layout, waves=waves)
    sidecar = VirtualSidecar(timetables, other, layout.sidecar, clock) if HINTS in needs_of(method) else None

    def decoding(setting: Setting) -> ProfileState:
        return ProfileState(setting, timetables[setting.prompt[0]], clock)

    engine = Engine(
        Parts(
            target=VirtualTarget(timetables, layout.target if waves else layout.target_alone, clock),
            executor=VirtualExecutor(device),
            prompts=VirtualPrompts(timetables),
            codec=VirtualCodec(),
            curve=VerifyCurve(),  # nothing is drafted by it
            sidecar=sidecar,
            method=method,
            record=True,
            clock=clock,
            decoding=decoding,
        )
    )
    completions = run_virtually(_serve_all(engine, timetables, done), clock)
    clock.run_out()  # a wave that was cancelled ends its forward
    launched = tuple(sidecar.waves) if sidecar is not None else ()
    events = [*engine.recorder.events, *(event for wave in launched for event in wave.events(method))]
    return VirtualRun(tuple(completions), tuple(engine.recorder.served), tuple(events), launched)


async def _serve_all(engine: Engine, timetables: Sequence[Timetable], done: Callable[[], object]) -> list[Completion]:
    completions = []
    for timetable in timetables:
        completions.append(await engine.generate(_request(timetable)))
        done()
    return completions


def _request(timetable: Timetable) -> Request:
    slots = max((hint.ready for hint in timetable.hints.values()), default=0)
    return Request(
        id=timetable.request,
        messages=(Message(role="user"),),
        tools=(tool_of(slots),),
        max_new_tokens=timetable.output,
    )


def _check(timetables: Sequence[Timetable], method: str) -> None:
    hinted = HINTS in needs_of(method)
    for timetable in timetables:
        where = f"request {timetable.request!r} by {method}"
        if timetable.wave is not None and not hinted:
            raise OospecError(f"{where}: there are hints, and no drafter of {method} takes them; rename the method")
        for version, hint in timetable.hints.items():
            if hint.bytes > MAX_PAYLOAD or version > _MOST_VERSIONS:
                raise OospecError(
                    f"{where}: hint version {version} has {hint.bytes} bytes; "
                    f"the channel takes {MAX_PAYLOAD} and versions up to {_MOST_VERSIONS}"
                )
