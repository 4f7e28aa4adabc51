"""What a reader must know beside the figures of a scenario: what was extrapolated, assumed or overloaded."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean

from sim.costs.costs import Costs
from sim.figures.provenance import NO_LINK, slowdown_note
from sim.replay.replay import Replay
from sim.scenario.interference import Interference
from sim.scenario.scenario import Scenario

_LONG = 3  # times of service that waiting must exceed to be called a growing queue


def notes_on(
    scenario: Scenario, replay: Replay, costs: Costs, interference: Interference | None, *, wave: bool
) -> Iterator[str]:
    """``wave``: whether the method has a sidecar. Each note begins with what it is about."""
    yield from _beyond(replay, costs)
    if wave and scenario.placement.layout().sharing == "fair":
        yield slowdown_note(scenario.placement, interference)
    if wave and not len(costs.links) and scenario.link_latency is None:
        yield NO_LINK
    if (doubt := scenario.load.doubt([served.timetable.arrival_ns for served in replay.served])) is not None:
        yield doubt
    yield from _overload(replay)


def _beyond(replay: Replay, costs: Costs) -> Iterator[str]:
    outside = [
        round_.tokens
        for served in replay.served
        for round_ in served.rounds
        if (flags := served.timetable.rounds[round_.version].beyond) is not None and flags[round_.position - 1]
    ]
    if outside:
        forwards = sum(len(served.rounds) for served in replay.served)
        yield (
            f"extrapolated: {len(outside)} of {forwards} verifies (of up to {max(outside)} tokens) lie outside of "
            f"what was sampled ({costs.target_verify.known})"
        )
    if prefills := sum(served.timetable.prefill_beyond for served in replay.served):
        least, most = costs.target_prefill.known_tokens
        yield f"extrapolated: {prefills} prefills lie outside of the sampled {least} to {most} tokens"


def _overload(replay: Replay) -> Iterator[str]:
    """Waiting that grows from each third of the arrivals to the next, to several times a request's own service."""
    served = sorted(replay.served, key=lambda each: each.arrival)
    third = len(served) // 3
    if third == 0:
        return
    parts = served[:third], served[third:-third], served[-third:]
    early, middle, late = (fmean(each.start - each.arrival for each in part) for part in parts)
    if early < middle < late and late > _LONG * fmean(each.end - each.start for each in served):
        yield "load: the queue grows to the end of the run; latencies depend on how many requests there are"
