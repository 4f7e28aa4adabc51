"""Reports and timelines of replays."""

from __future__ import annotations

from pathlib import Path

import pytest
from plotly import graph_objects

from helpers.page import Page
from helpers.sim_traces import random_requests, request, trace
from oospec_async.trace import Trace, write_trace
from sim.costs.recording import Recording
from sim.figures.events import events_of
from sim.figures.simulator import Simulator
from sim.report.charts import bars, boxes, lines
from sim.report.run import write_report
from sim.scenario.scenario import Scenario, scenario_of
from sim.study.assertions import judge
from sim.study.report import write_study_report
from sim.study.spec import read_study
from sim.study.workers import Task, work

NASTY = '</script><img src=x onerror="alert(1)">'


def named(nasty: bool = True) -> Trace:
    runs = random_requests(5, 2)
    if nasty:
        runs[0] = runs[0].model_copy(update={"request": NASTY})
    return trace(runs)


def report(tmp_path: Path, methods: tuple[str, ...], made: Trace, **values: object) -> Page:
    simulator = Simulator(Recording(made, f"{NASTY}.json"))
    results = [simulator.run(scenario_of({**values, "method": method})) for method in methods]
    write_report(simulator, results, tmp_path / "r.html")
    return Page(tmp_path / "r.html")


def test_a_report_has_a_figure_for_each_question_and_stands_alone(tmp_path: Path) -> None:
    page = report(tmp_path, ("ar", "toolspec", "oospec"), named())
    page.check(figures=9)
    for said in (
        "placement=split",
        "made up for tests",
        "Latency by method.",
        "Latency of oospec by placement.",
        "Speedup against sidecar speed.",
        "Speedup against link latency.",
        "Where the hint arrives",
        "How busy the devices are",
        "The typical request",
        "The worst request",
    ):
        assert said in page.text
    for figure in page.figures:
        graph_objects.Figure(figure)


def test_without_a_sidecar_the_report_is_about_the_rest(tmp_path: Path) -> None:
    page = report(tmp_path, ("ar",), trace([request("r", 9, steps=0).model_copy(update={"profiles": []})]))
    assert "Where the hint arrives" not in page.text
    page.check(figures=3)


@pytest.mark.parametrize(
    "values",
    [
        {"placement": "shared"},
        {"load": "poisson:rate=5", "targets": 3},
        {"targets": 4, "sidecars": 1},
        {"jitter": True},
        {"scale_sidecar": "inf"},
    ],
)
def test_a_report_can_be_made_of_any_scenario(tmp_path: Path, values: dict[str, object]) -> None:
    report(tmp_path, ("toolspec", "oospec"), named(), **values).check(figures=9)


def test_a_study_has_a_plot_for_every_axis(tmp_path: Path) -> None:
    write_trace(named(), tmp_path / "t.json")
    (tmp_path / "s.toml").write_text(
        f"""name = '{NASTY}'
trace = "t.json"
[grid]
placement = ["split", "shared"]
scale_sidecar = [0.1, 1, 10]
method = ["oospec"]
[[assert]]
that = "latency.mean > 0"
[[assert]]
that = "latency.mean > 1000"
"""
    )
    study = read_study(tmp_path / "s.toml")
    rows = work(Task(study.trace, None, study.scenarios))
    verdicts = [judge(assertion, [row["figures"] for row in rows]) for assertion in study.assertions]
    write_study_report(Simulator(Recording(named())), study, rows, verdicts, tmp_path / "r.html")
    page = Page(tmp_path / "r.html")
    page.check(figures=4)
    assert {"Against placement", "Against scale sidecar", "holds", "fails"} <= set(page.text.splitlines())
    assert "Against method" not in page.text


def test_charts_take_gaps_and_single_points() -> None:
    assert lines([("a", [1.0], [2.0])], "x", "y", log=True)["data"]
    assert bars(["a", "b"], [("m", [1.0, None])], "y")["data"]
    assert boxes([("a", [1.0]), ("b", [1.0, 2.0])], "x")["data"]


def test_events_are_those_that_a_live_engine_records() -> None:
    simulator = Simulator(Recording(named(nasty=False)))
    results = [simulator.run(Scenario(method=method)) for method in ("ar", "oospec")]
    events = events_of(results, ["r1"])
    assert {event.request for event in events} == {"r1"}
    assert {(e.track, e.name) for e in events if e.method == "ar"} == {
        ("target", "prefill"), ("target", "verify"), ("host", "commit"), ("host", "draft"),
    }  # fmt: skip
    served = next(s for s in results[1].replay.served if s.timetable.request == "r1")
    verifies = [e for e in events if e.method == "oospec" and e.name == "verify"]
    assert sum(e.data["committed"] for e in verifies) == served.timetable.output - 1
    assert all(len(e.data["sources"]) == e.data["committed"] for e in verifies)
    assert served.wave is not None
    publishes = [e for e in events if e.name == "publish"]
    assert [e.start_ns for e in publishes] == [at for _, at, _ in served.wave.publishes]
    host = [e for e in events if e.track == "host" and e.method == "oospec"]
    target = [e for e in events if e.track == "target" and e.method == "oospec"]
    steps = sorted([*host, *target], key=lambda e: (e.start_ns, e.end_ns))
    assert all(a.end_ns == b.start_ns for a, b in zip(steps, steps[1:], strict=False))  # noqa: RUF007
