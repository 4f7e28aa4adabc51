"""Figures of scenarios, and what is said beside them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from helpers.sim_traces import random_requests, request, retimed, simulator_of, trace
from oospec_async.trace import Trace
from sim.costs.recording import Recording
from sim.figures.measure import known_figures, pick
from sim.figures.provenance import basis, provenance_lines
from sim.figures.simulator import Result, Simulator
from sim.scenario.interference import Interference
from sim.scenario.scenario import Scenario, scenario_of


def simulator(count: int = 12, seed: int = 1) -> Simulator:
    return simulator_of(random_requests(count, seed))


def run(values: dict[str, object], made: Simulator | None = None) -> Result:
    return (made or simulator()).run(scenario_of(values))


def test_a_speedup_is_total_time_over_total_time() -> None:
    made = simulator()
    ours = made.run(Scenario())
    for name in ("ar", "toolspec"):
        theirs = made.run(Scenario(method=name))
        mine, its = (r.replay.served for r in (ours, theirs))
        total = sum(s.end - s.arrival for s in its) / sum(s.end - s.arrival for s in mine)
        assert pick(ours.figures, f"speedup_vs_{name}.mean") == pytest.approx(total)
        each = sorted((b.end - b.arrival) / (a.end - a.arrival) for a, b in zip(mine, its, strict=True))
        assert pick(ours.figures, f"speedup_vs_{name}.min") == pytest.approx(each[0])
        assert pick(theirs.figures, f"speedup_vs_{name}.mean") == 1.0


def test_every_figure_is_known_to_assertions() -> None:
    known = set(known_figures())
    for values in ({}, {"method": "ar"}, {"placement": "shared"}, {"load": "poisson:rate=1"}):
        for name, value in run(values).figures.items():
            paths = [f"{name}.{part}" for part in value] if isinstance(value, dict) else [name]
            assert set(paths) <= known


def test_figures_of_a_sidecar_are_left_out_without_one() -> None:
    figures = run({"method": "toolspec"}).figures
    assert "wave_hidden" not in figures
    assert pick(figures, "utilisation.sidecar") is None
    assert figures["devices"] == 1


@pytest.mark.parametrize(
    ("placement", "devices"), [("split", 2), ("shared", 1), ("fraction", 1), ("tensor-parallel:ways=4", 5)]
)
def test_devices_are_counted(placement: str, devices: int) -> None:
    assert run({"placement": placement}).figures["devices"] == devices
    assert run({"placement": "split", "targets": 4, "sidecars": 1}).figures["devices"] == 5


def test_a_wave_that_lies_under_the_decode_is_hidden_and_one_that_is_cut_off_is_not() -> None:
    short = [request(f"r{i}", 40, steps=3, hinted=[[(0, 0)] * 39], publish_at=(1,)) for i in range(2)]
    long = [request(f"r{i}", 2, prompt=20, steps=90, hinted=[[(0, 0)]], publish_at=(1,)) for i in range(2)]
    shares = [pick(simulator_of(r).run(Scenario()).figures, "wave_hidden.mean") for r in (short, long)]
    assert shares[0] == 1.0
    assert shares[1] is not None
    assert 0 < shares[1] < 0.2


def test_a_forward_beyond_the_samples_is_told_with_what_they_cover() -> None:
    large = request("r", 120, hinted=[[(100, 100)] + [(0, 0)] * 118], publish_at=(1,))
    (note,) = simulator_of([large]).run(Scenario(method="oospec@zero")).notes
    assert "1 of 19 verifies" in note
    assert "1 to 64 tokens" in note


def test_a_fairly_shared_device_says_where_its_slowdown_comes_from() -> None:
    recording = Recording(trace(random_requests(4)))
    assumed = Simulator(recording).run(scenario_of({"placement": "shared-fair"}))
    measured = Simulator(recording, Interference((1.25, 1.5), "measured on x")).run(
        scenario_of({"placement": "shared-fair"})
    )
    assert any("assumed" in note and "2.00" in note for note in assumed.notes)
    assert any("measured on x" in note and "1.25" in note for note in measured.notes)
    assert pick(measured.figures, "latency.mean") < pick(assumed.figures, "latency.mean")  # type: ignore[operator]


def test_a_growing_queue_is_told() -> None:
    assert any("queue grows" in note for note in run({"load": "poisson:rate=100"}, simulator(40)).notes)
    assert not any("queue grows" in note for note in run({"load": "poisson:rate=0.1"}, simulator(40)).notes)


def test_without_link_samples_it_is_told_that_hints_arrive_at_once() -> None:
    made = trace(random_requests(3))
    without = retimed(made, link=[])
    assert any("link" in note for note in Simulator(Recording(without)).run(Scenario()).notes)


def parts(kinds: Sequence[str]) -> Trace:
    made = trace(random_requests(1))
    origins = dict(made.provenance.parts)
    for part, kind in zip(origins, kinds, strict=False):
        origins[part] = origins[part].model_copy(update={"kind": kind, "how": kind[:3]})
    return made.model_copy(update={"provenance": made.provenance.model_copy(update={"parts": origins})})


def test_the_basis_is_recorded_only_if_every_part_is() -> None:
    assert basis(parts([])) == "modelled"
    assert basis(parts(["recorded"] * 6)) == "recorded"
    assert basis(parts(["recorded"] * 3)) == "partly modelled"
    assert provenance_lines(parts(["recorded"] * 6)) == [
        "outputs, profiles, hints, target timing, sidecar timing, host timing: RECORDED; rec"
    ]


def test_methods_of_other_requests_have_no_speedup() -> None:
    few = request("r0", 9, hinted=[[(0, 0)] * 8], publish_at=(1,))
    other = request("r1", 9, method="lookup", steps=0)
    figures = simulator_of([few, other]).run(Scenario(method="lookup")).figures
    assert "speedup_vs_toolspec" not in figures


def test_jitter_is_seeded_and_common_to_methods() -> None:
    made = simulator_of(random_requests(6), noise=0.5)
    plain, first, again, second = (
        made.run(scenario_of(v)).replay for v in ({}, {"jitter": True}, {"jitter": True}, {"jitter": True, "seed": 1})
    )
    ends = [[s.end for s in each.served] for each in (plain, first, again, second)]
    assert ends[1] == ends[2]
    assert len({tuple(e) for e in ends}) == 3
    ar = made.run(scenario_of({"jitter": True, "method": "ar"})).replay
    assert ar.served[0].prefill == first.served[0].prefill
