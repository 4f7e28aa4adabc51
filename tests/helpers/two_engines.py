"""One timeline by two engines: the live engine on a virtual clock, and the simulator. And small traces full of ties."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from hypothesis import strategies as st

from helpers.sim_traces import Made, request, trace
from oospec_async.events import Event
from oospec_async.trace import RequestTrace, Trace, Wave
from sim.figures.simulator import Simulator
from sim.live.serve import VirtualRun, serve
from sim.replay.timetable import Timetable
from sim.scenario.scenario import Scenario

NS = 1e-9  # seconds
METHODS = ("ar", "toolspec", "oospec")
PLACEMENTS = ("split", "shared", "shared-fair", "shared-fair:target_slowdown=1.3,sidecar_slowdown=2.9")
PLACEMENTS += ("fraction:share=0.3", "tensor-parallel:ways=3,communication=0.000000002")


@dataclass(frozen=True)
class Timeline:
    """Of one request. All times in ns."""

    request: str
    start: int
    prefill: tuple[int, int]
    first_token: int
    end: int
    rounds: tuple[tuple[int, ...], ...]  # position, version, start, end, tokens, accepted, committed
    polls: tuple[tuple[int, int, int], ...]  # that found a hint: time, position, version
    launched: int | None
    spans: tuple[tuple[int, int], ...]  # the sidecar's forwards
    publishes: tuple[tuple[int, int, int], ...]  # version, published, readable


def simulated(simulator: Simulator, scenario: Scenario) -> list[Timeline]:
    replay = simulator.replay(scenario)
    return [
        Timeline(
            served.timetable.request,
            served.start,
            served.prefill,
            served.first_token,
            served.end,
            tuple((r.position, r.version, r.start, r.end, r.tokens, r.accepted, r.committed) for r in served.rounds),
            tuple(served.polls),
            served.wave.launched if served.wave is not None else None,
            tuple(served.wave.spans) if served.wave is not None else (),
            tuple(served.wave.publishes) if served.wave is not None else (),
        )
        for served in replay.served
    ]


def virtual(simulator: Simulator, scenario: Scenario) -> list[Timeline]:
    """Of the simulator nothing but the timetables is used."""
    timetables = simulator.timetables(scenario.method, scenario.seed if scenario.jitter else None)
    return timelines(serve(timetables, scenario.method, scenario.placement.layout()), timetables)


def timelines(run: VirtualRun, timetables: Sequence[Timetable]) -> list[Timeline]:
    waves = {wave.timetable.request: wave for wave in run.waves}
    by_request: defaultdict[str, list[Event]] = defaultdict(list)
    for event in run.events:
        by_request[event.request].append(event)
    made = []
    for timetable, served in zip(timetables, run.served, strict=True):
        events = by_request[timetable.request]
        prefill = next(e for e in events if (e.track, e.name) == ("target", "prefill"))
        commits = [event.end_ns for event in events if event.name == "commit"]
        polls = [(e.start_ns, e.data["position"], e.data["version"]) for e in events if e.name == "poll"]
        rounds = []
        for event in (event for event in events if event.name == "verify"):
            data = event.data
            version = max([0, *(v for _, position, v in polls if position <= data["position"])])
            counts = data["tokens"], data["accepted"], data["committed"]
            rounds.append((data["position"], version, event.start_ns, event.end_ns, *counts))
        wave = waves.get(timetable.request)
        made.append(
            Timeline(
                timetable.request,
                served.start_ns,
                (prefill.start_ns, prefill.end_ns),
                commits[0],
                commits[-1],
                tuple(rounds),
                tuple(polls),
                wave.launched if wave is not None else None,
                tuple(wave.spans) if wave is not None else (),
                tuple(wave.publishes) if wave is not None else (),
            )
        )
    return made


def with_steps(run: RequestTrace, start_ns: int, steps_ns: Sequence[int]) -> RequestTrace:
    """A run whose sidecar takes these times; what it publishes stays where it is."""
    assert run.wave is not None
    now, published, steps = start_ns, {}, []
    for step, ns in zip(run.wave.steps, steps_ns, strict=True):
        now += max(ns, 1)
        steps.append(step.model_copy(update={"seconds": ns * NS}))
        if step.publishes is not None:
            published[step.publishes] = max(now * NS, 0.0)
    publishes = [publish.model_copy(update={"seconds": published[publish.version]}) for publish in run.publishes]
    return run.model_copy(update={"wave": Wave(start=start_ns * NS, steps=steps), "publishes": publishes})


@st.composite
def runs(draw: st.DrawFn, name: str, made: Made) -> RequestTrace:
    output = draw(st.integers(1, 10))
    pairs = [st.integers(0, 5) for _ in range(output - 1)]
    versions, steps = draw(st.integers(0, 3)), draw(st.integers(0, 6))
    versions = min(versions, max(steps - 1, 0))

    def profile() -> list[tuple[int, int]]:
        drafted = draw(st.tuples(*pairs))
        return [(d, min(draw(st.integers(0, d)), max(output - 2 - i, 0))) for i, d in enumerate(drafted)]

    at = sorted(draw(st.permutations(range(steps)))[:versions])
    run = request(
        name,
        output,
        draw(st.integers(1, 30)),
        without=profile(),
        hinted=[profile() for _ in range(versions)],
        publish_at=at,
        steps=steps,
        made=replace(made, before=draw(st.integers(0, 8)) * NS),
    )
    if not steps:
        return run
    return with_steps(run, draw(st.integers(-8, 12)), draw(st.lists(st.integers(0, 9), min_size=steps, max_size=steps)))


@st.composite
def traces(draw: st.DrawFn) -> Trace:
    """Everything takes a few nanoseconds, so that much happens at the same one."""
    made = Made(
        verify_base=draw(st.integers(1, 8)) * NS,
        verify_token=draw(st.integers(0, 1)) * NS,
        verify_row=0.0,
        prefill_token=draw(st.sampled_from([0.1, 1.0])) * NS,
        host=draw(st.sampled_from([0, 20, 40, 7])) * NS,  # 15% of it comes before the poll
        link=draw(st.integers(0, 6)) * NS,
    )
    return trace([draw(runs(f"r{number}", made)) for number in range(draw(st.integers(1, 4)))], made)
