"""Invariant 9, simulated: limits are met to the nanosecond."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.sim_checks import by_hand
from helpers.sim_traces import Made, random_requests, request, retimed, simulator_of, trace
from sim.costs.costs import Costs
from sim.costs.nanoseconds import forward_ns
from sim.costs.recording import Recording
from sim.figures.simulator import Simulator
from sim.replay.replay import Served
from sim.scenario.scenario import Scenario, scenario_of

SEEDS = st.integers(0, 10**6)


def spans(served: Served) -> list[tuple[int, int]]:
    """Without what tells of the wave."""
    return [served.prefill, *((r.start, r.end) for r in served.rounds), (served.first_token, served.end)]


@settings(max_examples=30)
@given(seed=SEEDS, placement=st.sampled_from(("split", "shared", "shared-fair", "fraction:share=0.5")))
def test_no_drafts_take_exactly_the_ar_time(seed: int, placement: str) -> None:
    """A method that was recorded without ever drafting anything, replayed, is AR; and AR is a plain sum."""
    empty = [
        request(f"r{i}", r.output_tokens, r.prompt_tokens, steps=0) for i, r in enumerate(random_requests(4, seed))
    ]
    simulator = simulator_of(empty)
    ar, drafting = (simulator.replay(scenario_of({"placement": placement, "method": m})) for m in ("ar", "oospec"))
    assert [spans(s) for s in ar.served] == [spans(s) for s in drafting.served]
    costs = Costs(simulator.recording)
    for served, run in zip(ar.served, empty, strict=True):
        timetable = served.timetable
        contexts = [run.prompt_tokens + i for i in range(run.output_tokens - 1)]
        verifies = forward_ns(costs.target_verify.seconds([1] * len(contexts), contexts))
        host = sum(timetable.commit_ns) + sum(timetable.draft_ns[:-1])
        assert served.end - served.start == timetable.before_ns + timetable.prefill_ns + sum(verifies) + host


@settings(max_examples=30)
@given(seed=SEEDS, load=st.sampled_from(("closed", "poisson:rate=3")), targets=st.integers(1, 3))
def test_on_a_split_a_wave_that_is_never_heard_takes_exactly_the_toolspec_time(
    seed: int, load: str, targets: int
) -> None:
    simulator = simulator_of(random_requests(8, seed))
    base = {"load": load, "targets": targets, "seed": seed}
    plain = simulator.replay(scenario_of({**base, "method": "toolspec"}))
    never = simulator.replay(scenario_of({**base, "method": "oospec@never"}))
    assert [spans(s) for s in plain.served] == [spans(s) for s in never.served]


@pytest.mark.parametrize("how", [{"link_latency": 1e6}, {"scale_sidecar": 1e-9}, {"link_bandwidth": 1e-9}])
@settings(max_examples=30)
@given(seed=SEEDS)
def test_so_does_a_hint_that_comes_too_late(how: dict[str, float], seed: int) -> None:
    simulator = simulator_of(random_requests(6, seed))
    plain = simulator.replay(scenario_of({"method": "toolspec"}))
    late = simulator.replay(scenario_of({"method": "oospec", **how}))
    assert [spans(s) for s in plain.served] == [spans(s) for s in late.served]


@settings(max_examples=30)
@given(seed=SEEDS)
def test_an_endlessly_fast_sidecar_and_link_reach_the_hint_at_time_zero(seed: int) -> None:
    simulator = simulator_of(random_requests(6, seed))
    zero = simulator.replay(scenario_of({"method": "oospec@zero"}))
    fast = simulator.replay(scenario_of({"method": "oospec", "scale_sidecar": float("inf"), "link_latency": 0.0}))
    assert [spans(s) for s in zero.served] == [spans(s) for s in fast.served]


@settings(max_examples=30)
@given(seed=SEEDS)
def test_a_perfect_draft_takes_the_fewest_rounds_where_trees_cost_the_same(seed: int) -> None:
    made = Made(verify_row=0.0, verify_token=0.0)
    simulator = simulator_of(random_requests(5, seed, made), made)
    perfect = simulator.replay(scenario_of({"method": "perfect"}))
    for method in ("ar", "toolspec", "oospec", "oospec@zero"):
        other = simulator.replay(scenario_of({"method": method}))
        for bound, served in zip(perfect.served, other.served, strict=True):
            assert len(bound.rounds) <= len(served.rounds)


@settings(max_examples=60)
@given(
    seed=SEEDS,
    curve=st.lists(st.sampled_from((0.01, 0.1, 0.5, 1.0, 10.0)), min_size=7, max_size=7),
    method=st.sampled_from(("ar", "toolspec", "oospec", "oospec@zero")),
    placement=st.sampled_from(("split", "shared", "tensor-parallel:ways=3,communication=0.02", "fraction:share=0.5")),
    jitter=st.booleans(),
)
def test_no_request_is_faster_than_by_a_perfect_draft(
    seed: int, curve: list[float], method: str, placement: str, jitter: bool
) -> None:
    """Whatever the verify times: convex, falling, or without any order."""
    recorded = trace(random_requests(5, seed), noise=0.3)
    shape = dict(zip((1, 2, 4, 8, 16, 32, 64), curve, strict=True))
    samples = [s.model_copy(update={"seconds": s.seconds * shape[s.tokens]}) for s in recorded.timing.target_verify]
    simulator = Simulator(Recording(retimed(recorded, target_verify=samples)))
    given_ = {"placement": placement, "jitter": jitter}
    perfect = simulator.replay(scenario_of({**given_, "method": "perfect"}))
    other = simulator.replay(scenario_of({**given_, "method": method}))
    for bound, served in zip(perfect.served, other.served, strict=True):
        assert bound.end - bound.start <= served.end - served.start


def test_a_perfect_draft_is_as_large_as_the_largest_recorded_tree() -> None:
    run = request("r", 30, without=[(7, 0)] * 29)
    (served,) = simulator_of([run]).replay(Scenario(method="perfect")).served
    assert sorted(r.committed for r in served.rounds) == [5, 8, 8, 8]
    assert [r.tokens for r in served.rounds] == [r.committed for r in served.rounds]


@settings(max_examples=30)
@given(
    seed=SEEDS,
    method=st.sampled_from(("ar", "toolspec", "oospec", "oospec@zero", "oospec@never")),
    speed=st.sampled_from((0.2, 1.0, 5.0)),
    latency=st.sampled_from((None, 0.0, 0.02)),
)
def test_a_split_is_what_a_plain_loop_makes_of_it(seed: int, method: str, speed: float, latency: float | None) -> None:
    simulator = simulator_of(random_requests(6, seed))
    scenario = scenario_of({"method": method, "scale_sidecar": speed, "link_latency": latency})
    expected = by_hand(simulator.timetables(method), scenario)
    assert [served.end for served in simulator.replay(scenario).served] == expected


@settings(max_examples=30)
@given(seed=SEEDS)
def test_one_way_tensor_parallel_is_a_split(seed: int) -> None:
    simulator = simulator_of(random_requests(5, seed))
    one = simulator.replay(scenario_of({"placement": "tensor-parallel:ways=1"}))
    split = simulator.replay(scenario_of({"placement": "split"}))
    assert [spans(s) for s in one.served] == [spans(s) for s in split.served]


@settings(max_examples=30)
@given(seed=SEEDS)
def test_without_a_wave_a_shared_device_is_the_targets_own(seed: int) -> None:
    simulator = simulator_of(random_requests(5, seed))
    for method in ("ar", "toolspec", "oospec@zero"):
        ends = [
            [s.end for s in simulator.replay(scenario_of({"placement": p, "method": method})).served]
            for p in ("split", "shared", "shared-fair", "fraction:share=0.4")
        ]
        assert all(each == ends[0] for each in ends)
