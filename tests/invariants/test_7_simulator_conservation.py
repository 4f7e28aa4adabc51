"""Invariant 7, simulated: a token is committed once; time runs forwards; a device never does two things at once."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.sim_checks import PLACEMENTS, check_conservation, check_devices, simulated
from helpers.sim_traces import random_requests, simulator_of
from sim.figures.measure import measure, pick
from sim.replay.replay import Replay
from sim.scenario.scenario import scenario_of


@settings(max_examples=30)
@given(st.sampled_from(PLACEMENTS).flatmap(lambda name: st.tuples(st.just(name), simulated(placement=name))))
def test_whatever_the_scenario(placed: tuple[str, Replay]) -> None:
    placement, replay = placed
    assert [served.timetable.request for served in replay.served] == [f"r{number}" for number in range(6)]
    for served in replay.served:
        check_conservation(served)
    check_devices(replay, at_once=placement == "shared-fair")
    for share in pick(measure(replay), "utilisation.target"), pick(measure(replay), "utilisation.sidecar"):
        assert share is None or 0 < share <= 1  # no device is busy for longer than the run


@settings(max_examples=30)
@given(seed=st.integers(0, 10**6), slowdown=st.floats(1.0, 3.0))
def test_a_fairly_shared_device_does_no_less_and_no_more_than_was_asked_of_it(seed: int, slowdown: float) -> None:
    simulator = simulator_of(random_requests(5, seed))
    fair = f"shared-fair:target_slowdown={slowdown},sidecar_slowdown={slowdown}"
    replay = simulator.replay(scenario_of({"placement": fair}))
    split = simulator.replay(scenario_of({"placement": "split"}))
    for shared, alone in zip(replay.served, split.served, strict=True):
        assert alone.prefill[1] - alone.prefill[0] <= shared.prefill[1] - shared.prefill[0]
        assert shared.prefill[1] - shared.prefill[0] <= slowdown * (alone.prefill[1] - alone.prefill[0]) + 1


def test_a_fairly_shared_device_without_slowdown_is_a_split() -> None:
    simulator = simulator_of(random_requests(20, 3))
    fair = simulator.replay(scenario_of({"placement": "shared-fair:target_slowdown=1,sidecar_slowdown=1"}))
    split = simulator.replay(scenario_of({"placement": "split"}))
    assert [s.end for s in fair.served] == [s.end for s in split.served]
    assert [s.rounds for s in fair.served] == [s.rounds for s in split.served]


@pytest.mark.parametrize(("targets", "sidecars"), [(4, 1), (4, 2), (1, 3)])
def test_a_sidecar_runs_one_wave_at_a_time(targets: int, sidecars: int) -> None:
    simulator = simulator_of(random_requests(30, 5))
    replay = simulator.replay(scenario_of({"targets": targets, "sidecars": sidecars}))
    waves = [s.wave for s in replay.served if s.wave is not None and s.wave.spans]
    for name in {wave.sidecar for wave in waves}:
        spans = sorted((wave.spans[0][0], wave.spans[-1][1]) for wave in waves if wave.sidecar == name)
        assert all(before[1] <= after[0] for before, after in pairwise(spans))
    assert len({wave.sidecar for wave in waves}) == sidecars  # the one that has been idle longest is next
    check_devices(replay, at_once=False)
