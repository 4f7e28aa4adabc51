"""How much two models on one device slow each other, measured in a trace that was recorded that way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from oospec_async.errors import OospecError
from oospec_async.trace import RequestTrace
from sim.costs.costs import Costs
from sim.costs.recording import Recording
from sim.scenario.placement import Slowdown

_INSIDE = 0.9  # share of a forward that must lie beside the other model's work
_PART = 0.25  # share of a prefill for which that is enough: a wave often ends within it
_ENOUGH = 5  # forwards of each model

_Span = tuple[float, float]


@dataclass(frozen=True)
class Interference:
    slowdown: Slowdown
    how: str


def measure_interference(colocated: Recording, alone: Costs) -> Interference:
    """Compares forwards that lay beside the other model's with the same forwards ``alone`` (another trace's costs).

    Raises OospecError if too few forwards of either model lay beside the other's.
    """
    target: list[float] = []
    lonely: list[float] = []
    sidecar: list[float] = []
    for run in colocated.trace.requests:
        if run.wave is None or not run.rounds:
            continue
        for beside, ratio in _verifies(run, alone):
            if beside >= _INSIDE:
                target.append(ratio)
            elif beside == 0:
                lonely.append(ratio)
        target += _prefill(run, alone)
        sidecar += [ratio for beside, ratio in _steps(run, alone) if beside >= _INSIDE]
    if min(len(target), len(sidecar)) < _ENOUGH:
        raise OospecError(
            f"{colocated.source}: {len(target)} forwards of the target and {len(sidecar)} sidecar steps lay beside the "
            f"other model's work; {_ENOUGH} of each are needed to measure how much they slow each other"
        )
    # Rounds after the wave had the device for themselves: what they differ by is the device, not the sharing.
    device = median(lonely) if len(lonely) >= _ENOUGH else 1.0
    slowdown = max(median(target) / device, 1.0), max(median(sidecar) / device, 1.0)
    how = f"measured on {len(target)} forwards of the target and {len(sidecar)} sidecar steps of {colocated.source}"
    return Interference(slowdown, how)


def _verifies(run: RequestTrace, alone: Costs) -> Iterator[tuple[float, float]]:
    """Of each round: the share of it beside the wave, and its time over that of the same forward alone."""
    wave = _wave(run)
    for round_ in run.rounds:
        expected = float(alone.target_verify.seconds(round_.tokens, run.prompt_tokens + round_.position - 1))
        yield _share((round_.start, round_.start + round_.seconds), [wave]), round_.seconds / expected


def _prefill(run: RequestTrace, alone: Costs) -> Iterator[float]:
    """How much the target was slowed while the wave ran beside its prefill, if it did for long enough.

    What the prefill takes alone was done partly beside the wave, slowed, and partly after it.
    """
    end = run.rounds[0].start  # and a millisecond of host time
    beside = _share((0.0, end), [_wave(run)]) * end
    done = alone.prefill(run.request, run.prompt_tokens) - (end - beside)  # beside the wave, in seconds alone
    if beside >= _PART * end and done > 0:
        yield beside / done


def _wave(run: RequestTrace) -> _Span:
    assert run.wave is not None
    return run.wave.start, run.wave.start + sum(step.seconds for step in run.wave.steps)


def _steps(run: RequestTrace, alone: Costs) -> Iterator[tuple[float, float]]:
    """Of each sidecar step after the target's prefill began: likewise."""
    assert run.wave is not None
    target = [(0.0, run.rounds[0].start), *((round_.start, round_.start + round_.seconds) for round_ in run.rounds)]
    now = run.wave.start
    for step in run.wave.steps:
        span, now = (now, now + step.seconds), now + step.seconds
        if step.kind == "step":
            expected = float(alone.sidecar_step.seconds(step.tokens, step.context))
            yield _share(span, target), step.seconds / expected


def _share(span: _Span, others: Sequence[_Span]) -> float:
    begin, end = span
    if end <= begin:
        return 0.0
    return sum(max(min(end, e) - max(begin, b), 0.0) for b, e in others) / (end - begin)
