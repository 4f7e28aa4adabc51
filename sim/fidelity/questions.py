"""How far the simulator is off, against what was recorded.

Four questions, each with its own answer, because errors can cancel in a total:

1. Held-out requests: costs from the samples of one half of the requests, times of the other half predicted: prefill,
   all rounds, hints, total, request by request.
2. Tokens: with the hint versions that the recorded rounds had, does every round verify and commit what was recorded?
3. Counterfactuals: mean times of other recorded traces (other methods, or both models on one device), predicted from
   this one.
4. Where both traces hold the same requests: are their outputs the same in length, so that a comparison means anything?
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from oospec_async.errors import OospecError
from oospec_async.trace import RequestTrace
from sim.costs.costs import Costs
from sim.costs.recording import Recording
from sim.fidelity.times import Errors, errors, recorded, recorded_prefills, simulated
from sim.figures.simulator import Simulator
from sim.scenario.interference import Interference, measure_interference
from sim.scenario.parameters import text_of
from sim.scenario.placement import Placement, Shared, SharedFair, Split
from sim.scenario.scenario import Scenario

_DEVICE = re.compile(r"(cpu|cuda)(:\d+)?")


@dataclass(frozen=True)
class Counterfactual:
    """A method of another trace, predicted from this one."""

    trace: str
    method: str
    placement: str
    errors: Sequence[Errors]
    other_outputs: int  # requests whose outputs differ in length between the traces: left out


@dataclass(frozen=True)
class Fidelity:
    trace: str
    method: str
    held_out: Sequence[Errors]
    rounds: int
    rounds_differ: int  # recorded rounds whose tokens or commits the profiles do not give
    counterfactuals: Sequence[Counterfactual]


def fidelity(recording: Recording, against: Sequence[Recording] = ()) -> Fidelity:
    """Answers all questions about the trace's hinted method, else about its first one with profiles."""
    method = recording.hinted
    runs = [run for run in recording.runs[method].values() if run.rounds]
    if len(runs) < 4:
        raise OospecError(
            f"{recording.source}: requests: {len(runs)} by {method!r} have recorded rounds; at least 4 are needed, as "
            f"oospec-run --live --record writes them"
        )
    rounds, differ = _tokens(runs)
    return Fidelity(
        trace=recording.source,
        method=method,
        held_out=_held_out(recording, method, runs),
        rounds=rounds,
        rounds_differ=differ,
        counterfactuals=[each for other in against for each in _counterfactuals(recording, other)],
    )


def _held_out(recording: Recording, method: str, runs: Sequence[RequestTrace]) -> list[Errors]:
    """Both halves in turn: calibrated on one, the other predicted."""
    halves = ({run.request for run in runs[0::2]}, {run.request for run in runs[1::2]})
    pairs = []
    for calibrated, predicted in (halves, halves[::-1]):
        simulator = Simulator(recording, costs=Costs(recording, only=calibrated))
        served = simulator.replay(Scenario(method=method, placement=_placement(recording))).served
        found = {each.timetable.request: simulated(each) for each in served}
        prefills = recorded_prefills(recording)
        pairs += [
            (recorded(run, prefills[run.request, method]), found[run.request])
            for run in runs
            if run.request in predicted
        ]
    return errors(pairs)


def _tokens(runs: Sequence[RequestTrace]) -> tuple[int, int]:
    total = differ = 0
    for run in runs:
        profiles = {profile.version: profile for profile in run.profiles}
        for round_ in run.rounds:
            total += 1
            profile, at = profiles.get(round_.hint_version), round_.position - 1
            if profile is None:
                differ += 1
                continue
            committed = min(profile.accepted[at] + 1, run.output_tokens - round_.position)
            differ += (profile.drafted[at] + 1, committed) != (round_.tokens, round_.committed)
    return total, differ


def _counterfactuals(recording: Recording, other: Recording) -> Iterator[Counterfactual]:
    measured: Interference | None = None
    placements: list[Placement] = [_placement(other)]
    if not isinstance(placements[0], Split):
        try:
            measured = measure_interference(other, Costs(recording))
            placements.append(SharedFair())
        except OospecError:  # too little overlap to measure: the serial prediction stands alone
            pass
    simulator = Simulator(recording, measured)
    prefills = recorded_prefills(other)
    for method, runs in other.runs.items():
        for placement in placements:
            try:
                served = simulator.replay(Scenario(method=method, placement=placement)).served
            except OospecError:  # a method that this trace cannot replay
                continue
            found = {each.timetable.request: each for each in served}
            common = [run for run in runs.values() if run.rounds and run.request in found]
            same = [run for run in common if found[run.request].timetable.output == run.output_tokens]
            if same:
                pairs = [(recorded(r, prefills[r.request, method]), simulated(found[r.request])) for r in same]
                yield Counterfactual(other.source, method, text_of(placement), errors(pairs), len(common) - len(same))


def _placement(recording: Recording) -> Placement:
    """How a trace was recorded: both models on one device, or each on its own.

    Only names that a live run gives to devices tell: two modelled devices may have one model's name.
    """
    made = recording.trace.provenance
    same = made.sidecar is not None and made.sidecar.device == made.target.device
    return Shared() if same and _DEVICE.fullmatch(made.target.device) else Split()
