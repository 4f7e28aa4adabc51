"""Figures are compared on the same requests, outputs, arrivals and luck only; what is left out is said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from helpers.sim_traces import random_requests, request, simulator_of, trace
from oospec_async.trace import RequestTrace, Trace, write_trace
from sim.cli import what_if
from sim.costs.jitter import Jitter
from sim.costs.recording import Recording
from sim.figures.measure import pick
from sim.figures.simulator import Result, Simulator
from sim.figures.table import rows_of, unlike
from sim.scenario.scenario import scenario_of


def as_ar(run: RequestTrace, output: int, **changes: object) -> RequestTrace:
    return request(run.request, output, run.prompt_tokens, method="ar", steps=0).model_copy(update=dict(changes))


def of(*runs: RequestTrace, noise: float = 0.0) -> Simulator:
    return simulator_of(runs, noise=noise)


def figure(result: Result, path: str) -> float:
    value = pick(result.figures, path)
    assert value is not None
    return value


def test_requests_with_another_output_by_the_baseline_are_left_out_of_its_speedup() -> None:
    runs = random_requests(6, 4)
    same = [as_ar(run, run.output_tokens) for run in runs[1:]]
    longer = as_ar(runs[0], runs[0].output_tokens + 400)
    result = of(*runs, longer, *same).run(scenario_of({}))
    without = of(*runs[1:], *same).run(scenario_of({}))
    assert figure(result, "speedup_vs_ar.mean") == pytest.approx(figure(without, "speedup_vs_ar.mean"), rel=0.02)
    assert figure(result, "speedup_vs_ar.max") < 10
    (note,) = [note for note in result.notes if "speedup over ar" in note]
    assert "5 requests" in note
    assert "1 with another output" in note
    assert without.notes == ()


def test_requests_that_only_one_method_has_are_left_out_and_counted() -> None:
    runs = random_requests(6, 4)
    extra = as_ar(request("x", 9), 9)
    simulator = of(*runs, extra)
    results = [simulator.run(scenario_of({"method": name})) for name in ("ar", "oospec")]
    assert [len(result.replay.served) for result in results] == [7, 6]
    assert rows_of(results, "modelled")[0] == ("requests", ["7", "6"])
    assert "6 are common to all" in unlike(results)[0]
    assert any("1 with ar only" in note for note in results[1].notes)
    own = of(*runs).run(scenario_of({}))
    assert figure(results[1], "speedup_vs_ar.mean") == figure(own, "speedup_vs_ar.mean")


@pytest.mark.parametrize("first", [8, 300])
def test_a_draw_of_a_position_depends_on_nothing_else(first: int) -> None:
    jitter = Jitter(3)
    jitter.of("r", first)
    short, long = jitter.of("r", 20), jitter.of("r", 200)
    for name in ("prefill", "verify", "host", "link"):
        left, right = getattr(short, name), getattr(long, name)
        assert len(left) == (20 if name in ("verify", "host") else 1)
        assert left.tolist() == right[: len(left)].tolist()
    assert len({float(getattr(long, name)[0]) for name in ("prefill", "verify", "host", "link")}) == 4


def test_with_jitter_the_order_of_methods_changes_nothing() -> None:
    runs = random_requests(4, 4)
    recorded = trace([*(as_ar(r, r.output_tokens + 30) for r in runs), *runs], noise=0.5)
    ends = []
    for order in (("ar", "oospec"), ("oospec", "ar")):
        simulator = Simulator(Recording(recorded))
        done = {m: simulator.replay(scenario_of({"method": m, "jitter": True})) for m in order}
        ends.append({m: [s.end for s in done[m].served] for m in sorted(done)})
    assert ends[0] == ends[1]


def test_a_heading_stands_wherever_something_stands_below_it() -> None:
    bare = request("x", 9, method="lookup", steps=0)
    simulator = of(*random_requests(3, 4), bare)
    for order in (("lookup", "oospec"), ("oospec", "lookup")):
        names = [name for name, _ in rows_of([simulator.run(scenario_of({"method": m})) for m in order], "modelled")]
        assert names.count("speedup over toolspec") == 1
        assert names.count("speedup over ar") == 1
    alone = [name for name, _ in rows_of([simulator.run(scenario_of({"method": "lookup"}))], "modelled")]
    assert "speedup over toolspec" not in alone


def arrivals(recorded: Trace, method: str) -> list[int]:
    done = Simulator(Recording(recorded)).run(scenario_of({"load": "recorded", "method": method}))
    return [served.arrival for served in done.replay.served]


def test_recorded_arrivals_are_those_of_one_run_for_all_methods() -> None:
    runs = [r.model_copy(update={"arrival": 0.5 * i}) for i, r in enumerate(random_requests(4, 4))]
    late = [as_ar(r, r.output_tokens, arrival=100.0 + i) for i, r in enumerate(runs)]
    recorded = trace([*late, *runs])
    assert arrivals(recorded, "ar") == arrivals(recorded, "oospec") == [i * 500_000_000 for i in range(4)]
    other = trace([*runs[:3], late[3], as_ar(runs[3], 9, arrival=7.0, method="lookup")])
    assert arrivals(other, "ar")[3] == 7_000_000_000


@pytest.mark.parametrize("load", ["recorded", "recorded:speed=3", "poisson:rate=2"])
def test_no_figure_depends_on_when_the_first_request_arrives(load: str) -> None:
    runs = [r.model_copy(update={"arrival": 0.5 * i}) for i, r in enumerate(random_requests(4, 4))]
    part_of_a_longer_run = [r.model_copy(update={"arrival": 1000 + r.arrival}) for r in runs]
    done, cut = (of(*each).run(scenario_of({"load": load})) for each in (runs, part_of_a_longer_run))
    assert cut.figures == done.figures
    assert [served.arrival for served in cut.replay.served] == [served.arrival for served in done.replay.served]
    assert cut.replay.served[0].arrival == 0


def test_a_trace_without_arrivals_is_told_under_recorded_load() -> None:
    simulator = of(*random_requests(4, 4))
    assert any("no arrivals" in note for note in simulator.run(scenario_of({"load": "recorded"})).notes)
    assert not any("no arrivals" in note for note in simulator.run(scenario_of({})).notes)


@pytest.mark.parametrize("placement", ["split", "tensor-parallel:ways=2"])
def test_a_wave_that_is_never_heard_takes_the_time_of_the_same_run_without_one(placement: str) -> None:
    """Also where ToolSpec was recorded itself, with other times and drafts."""
    runs = random_requests(5, 4)
    own = [
        r.model_copy(update={"method": "toolspec", "wave": None, "publishes": [], "before": r.before + 0.5})
        for r in runs
    ]
    own = [r.model_copy(update={"profiles": r.profiles[:1]}) for r in own]
    simulator = of(*runs, *own)
    ends = {
        method: [s.end for s in simulator.replay(scenario_of({"method": method, "placement": placement})).served]
        for method in ("oospec@never", "oospec@alone", "toolspec")
    }
    assert ends["oospec@never"] == ends["oospec@alone"]
    assert ends["toolspec"] != ends["oospec@alone"]
    assert not simulator.run(scenario_of({"method": "oospec@alone"})).replay.served[0].wave


def test_methods_that_cannot_be_replayed_are_named_with_the_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = random_requests(3, 4)
    path = tmp_path / "t.json"
    write_trace(trace([*runs[:2], runs[2].model_copy(update={"profiles": []})]), path)
    what_if(path, scenario_of({}), as_json=True)
    out, err = capsys.readouterr()
    said = " ".join(err.split())
    assert "left out: toolspec, oospec, oospec@zero: " in said
    assert "'r2' by 'oospec' has no profiles" in said
    assert any("left out: toolspec" in note for note in json.loads(out)["notes"])


def test_a_missing_baseline_is_told() -> None:
    runs = random_requests(3, 4)
    bare = [r.model_copy(update={"method": "toolspec", "wave": None, "publishes": [], "profiles": []}) for r in runs]
    bare[0] = bare[0].model_copy(update={"profiles": runs[0].profiles[:1]})
    notes = of(*runs, *bare).run(scenario_of({})).notes
    assert any(note.startswith("no speedup over toolspec: ") and "'r1'" in note for note in notes)
