"""Invariant 6, simulated: no round uses a hint before it was published plus the link's latency."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings

from helpers.sim_checks import check_causality, simulated
from helpers.sim_traces import PLAIN, request, simulator_of
from sim.costs.nanoseconds import NS
from sim.figures.simulator import Simulator
from sim.replay.replay import Replay
from sim.scenario.scenario import Scenario


@settings(max_examples=30)
@given(simulated())
def test_no_round_uses_a_hint_before_it_was_there_nor_misses_one(replay: Replay) -> None:
    for served in replay.served:
        check_causality(served)


def one_hint(link: float | None = 0.0) -> tuple[Simulator, Scenario]:
    """A hint that is published within the prefill, and a round that polls right after it."""
    made = replace(PLAIN, before=0.0, host=0.0)
    run = request("r", 12, hinted=[[(11, 10 - i) for i in range(11)]], publish_at=(1,), made=made)
    return simulator_of([run], made), Scenario(link_latency=link)


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


def test_messages_keep_their_order_on_a_slow_link() -> None:
    many = [[(4, 0)] * 30, [(8, 0)] * 30, [(9, 0)] * 30]
    run = request("r", 31, hinted=many, publish_at=(1, 2, 3), steps=5)
    shrinking = run.model_copy(
        update={"publishes": [p.model_copy(update={"bytes": 9000 // p.version**3}) for p in run.publishes]}
    )
    simulator = simulator_of([shrinking])
    (served,) = simulator.replay(Scenario(link_latency=0.0, link_bandwidth=100_000.0)).served
    assert served.wave is not None
    arrivals = [at for _, _, at in served.wave.publishes]
    assert arrivals == sorted(arrivals)
    check_causality(served)
