"""The simulator against runs that are known to be what it would have made of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from helpers.sim_command import found, told
from helpers.sim_traces import PLAIN, Made, observed, observed_run, random_requests, request, retimed, trace
from oospec_async.errors import OospecError
from oospec_async.trace import Trace, write_trace
from sim.costs.costs import Costs
from sim.costs.recording import Recording
from sim.fidelity.questions import fidelity
from sim.fidelity.times import recorded_prefills
from sim.figures.simulator import Simulator
from sim.scenario.interference import measure_interference
from sim.scenario.scenario import scenario_of

SLOW = replace(PLAIN, step=0.02)
LONG_PREFILLS = replace(SLOW, prefill_token=0.001)  # in which waves end, whole


def seen(seed: int, device: str | None = None, noise: float = 0.05) -> Recording:
    return Recording(observed(trace(random_requests(24, 5, SLOW), SLOW, noise=noise), seed, device=device))


def test_without_noise_held_out_requests_are_predicted_almost_exactly() -> None:
    found = fidelity(seen(0, noise=0.0))
    assert found.rounds_differ == 0
    assert [e.part for e in found.held_out] == ["prefill", "rounds", "first hint", "last hint", "total"]
    assert all(e.median < 1e-6 for e in found.held_out)
    assert all(abs(e.of_mean) < 0.03 for e in found.held_out)  # a rounded time may move a hint behind a poll
    assert all(e.requests == 24 for e in found.held_out)


def test_with_noise_errors_are_of_its_size_and_not_hidden() -> None:
    parts = {e.part: e for e in fidelity(seen(3)).held_out}
    assert all(abs(e.of_mean) < 0.06 for e in parts.values())
    assert all(0 < e.median <= e.p95 for e in parts.values())


def test_other_traces_are_predicted_by_their_own_method_and_placement() -> None:
    found = fidelity(seen(1), [seen(2), seen(3, device="cpu:7")])
    assert [(c.method, c.placement.split(":")[0]) for c in found.counterfactuals][:2] == [
        ("oospec", "split"),
        ("oospec", "shared"),
    ]
    assert all(abs(e.of_mean) < 0.12 for c in found.counterfactuals[:2] for e in c.errors)


def test_requests_whose_outputs_differ_are_left_out_and_counted() -> None:
    other = seen(2)
    longer = [
        run.model_copy(update={"output_tokens": run.output_tokens + 1}) if i < 3 else run
        for i, run in enumerate(other.trace.requests)
    ]
    (found,) = fidelity(seen(1), [Recording(other.trace.model_copy(update={"requests": longer}))]).counterfactuals
    assert found.other_outputs == 3
    assert found.errors[0].requests == 21


def test_rounds_that_profiles_do_not_give_are_counted() -> None:
    good = seen(1)
    run = good.trace.requests[0]
    rounds = [run.rounds[0].model_copy(update={"tokens": run.rounds[0].tokens + 1}), *run.rounds[1:]]
    bad = [run.model_copy(update={"rounds": rounds}), *good.trace.requests[1:]]
    assert fidelity(Recording(good.trace.model_copy(update={"requests": bad}))).rounds_differ == 1


def test_a_trace_without_recorded_rounds_is_refused() -> None:
    with pytest.raises(OospecError, match="0 by 'oospec' have recorded rounds"):
        fidelity(Recording(trace(random_requests(6)), "t.json"))


def test_prefills_belong_to_the_runs_of_a_request_in_their_order() -> None:
    one = request("r", 9)
    made = trace([one, one.model_copy(update={"method": "toolspec"})])
    samples = [
        s.model_copy(update={"seconds": at}) for s, at in zip(made.timing.target_prefill, (0.1, 0.2), strict=True)
    ]
    timed = retimed(made, target_prefill=samples)
    assert recorded_prefills(Recording(timed)) == {("r", "oospec"): 0.1, ("r", "toolspec"): 0.2}


def colocated(target: float, sidecar: float, device: Made = SLOW) -> Trace:
    """As recorded where both models slow each other so."""
    made = trace(random_requests(24, 5, device), device)
    text = f"shared-fair:target_slowdown={target},sidecar_slowdown={sidecar}"
    served = Simulator(Recording(made)).replay(scenario_of({"placement": text})).served
    runs = [observed_run(run, s) for run, s in zip(made.requests, served, strict=True)]
    return made.model_copy(update={"requests": runs})


@pytest.mark.parametrize("device", [SLOW, LONG_PREFILLS])
@pytest.mark.parametrize(("target", "sidecar"), [(1.0, 1.0), (1.3, 1.8), (2.0, 2.0)])
def test_interference_is_found_as_it_was_made(target: float, sidecar: float, device: Made) -> None:
    costs = Costs(Recording(trace(random_requests(24, 5, device), device)))
    found = measure_interference(Recording(colocated(target, sidecar, device)), costs)
    assert found.slowdown[0] == pytest.approx(target, rel=0.05)
    assert found.slowdown[1] == pytest.approx(sidecar, rel=0.05)


def test_the_command_prints_tables_or_json(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    write_trace(seen(1).trace, path)
    assert found("fidelity", path, "--against", path)["rounds_differ"] == 0
    assert "recorded rounds verify and commit what the profiles say" in told("fidelity", path, "--against", path)
