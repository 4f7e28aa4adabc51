"""Invariant 6, simulated: no round uses a hint before it was published plus the link's latency."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.sim_checks import check_causality
from helpers.sim_traces import PLAIN, random_requests, request, trace
from sim.costs.nanoseconds import NS
from sim.costs.recording import Recording
from sim.figures.simulator import Simulator
from sim.scenario.scenario import Scenario, scenario_of

PLACEMENTS = ("split", "shared", "shared-fair", "fraction:share=0.3", "tensor-parallel:ways=2")
METHODS = ("ar", "toolspec", "oospec", "oospec@zero", "oospec@never", "perfect")


@settings(max_examples=30)
@given(
    seed=st.integers(0, 10**6),
    placement=st.sampled_from(PLACEMENTS),
    method=st.sampled_from(METHODS),
    speed=st.sampled_from((0.1, 1.0, 8.0, float("inf"))),
    latency=st.sampled_from((None, 0.0, 0.0007, 0.05, 10.0)),
    bandwidth=st.sampled_from((None, 1e3, 1e9)),
    load=st.sampled_from(("closed", "poisson:rate=4", "recorded")),
    targets=st.integers(1, 3),
    jitter=st.booleans(),
)
def test_no_round_uses_a_hint_before_it_was_there_nor_misses_one(
    seed: int,
    placement: str,
    method: str,
    speed: float,
    latency: float | None,
    bandwidth: float | None,
    load: str,
    targets: int,
    jitter: bool,
) -> None:
    simulator = Simulator(Recording(trace(random_requests(6, seed), noise=0.3, seed=seed)))
    values = {"placement": placement, "method": method, "scale_sidecar": speed, "load": load, "jitter": jitter}
    links = {"link_latency": latency, "link_bandwidth": bandwidth}
    for served in simulator.replay(
        scenario_of({**values, **links, "targets": targets, "sidecars": targets, "seed": seed})
    ).served:
        check_causality(served)


def one_hint(link: float | None = 0.0) -> tuple[Simulator, Scenario]:
    """A hint that is published within the prefill, and a round that polls right after it."""
    made = replace(PLAIN, before=0.0, host=0.0)
    run = request("r", 12, hinted=[[(11, 10 - i) for i in range(11)]], publish_at=(1,), made=made)
    return Simulator(Recording(trace([run], made))), Scenario(link_latency=link)


def test_a_hint_that_arrives_in_the_nanosecond_of_a_poll_is_used_and_one_later_is_not() -> None:
    simulator, scenario = one_hint()
    (served,) = simulator.replay(scenario).served
    assert served.wave is not None
    gap = served.first_token - served.wave.publishes[0][1]
    assert gap > 0
    versions = []
    for late in (0, 1):
        (served,) = simulator.replay(replace(scenario, link_latency=(gap + late) / NS)).served
        assert served.wave is not None
        assert served.wave.publishes[0][2] == served.first_token + late
        versions.append(served.rounds[0].version)
    assert versions == [1, 0]


@pytest.mark.parametrize("placement", ["split", "shared", "shared-fair"])
def test_a_publish_comes_before_a_poll_at_the_same_nanosecond(placement: str) -> None:
    """Publish and poll coincide by construction: both follow forwards that end together."""
    made = replace(PLAIN, before=0.0, host=0.0, prefill_token=0.00008, step=0.004)
    run = request("r", 12, hinted=[[(11, 10 - i) for i in range(11)]], publish_at=(1,), made=made)  # 8 ms both
    scenario = scenario_of({"placement": placement, "link_latency": 0.0})
    (served,) = Simulator(Recording(trace([run], made))).replay(scenario).served
    assert served.wave is not None
    if placement == "split":
        assert served.wave.publishes[0][1] == served.first_token == served.prefill[1]
        assert served.rounds[0].version == 1
    check_causality(served)


def test_messages_keep_their_order_on_a_slow_link() -> None:
    many = [[(4, 0)] * 30, [(8, 0)] * 30, [(9, 0)] * 30]
    run = request("r", 31, hinted=many, publish_at=(1, 2, 3), steps=5)
    shrinking = run.model_copy(
        update={"publishes": [p.model_copy(update={"bytes": 9000 // p.version**3}) for p in run.publishes]}
    )
    simulator = Simulator(Recording(trace([shrinking])))
    (served,) = simulator.replay(Scenario(link_latency=0.0, link_bandwidth=100_000.0)).served
    assert served.wave is not None
    arrivals = [at for _, _, at in served.wave.publishes]
    assert arrivals == sorted(arrivals)
    check_causality(served)
