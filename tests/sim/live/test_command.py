"""``oospec-sim live``: what it prints, that it needs neither torch nor SimPy, and what it says to bad input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from helpers.sim_command import found, refused, spawned, told
from helpers.sim_traces import random_requests, request, retimed, trace
from oospec_async.trace import Origin, Trace, write_trace
from sim.costs.recording import open_recording
from sim.figures.simulator import Simulator
from sim.scenario.placement import parse_placement
from sim.scenario.scenario import Scenario


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return written(trace(random_requests(5, 1)), tmp_path)


def written(made: Trace, folder: Path) -> Path:
    write_trace(made, folder / "t.json")
    return folder / "t.json"


def test_the_table_says_that_it_is_simulated_and_on_what_it_rests(path: Path) -> None:
    text = " ".join(told("live", path).split())
    for said in (
        "Simulated on a virtual clock from modelled parts",
        "made up for tests",
        "split",
        "toolspec",
        "oospec",
    ):
        assert said in text
    assert "Measured" not in text
    assert "outputs equal" not in text  # nothing was decoded


def test_recorded_and_partly_modelled_traces_are_called_so(tmp_path: Path) -> None:
    made = trace(random_requests(2, 1))
    parts = dict.fromkeys(made.provenance.parts, Origin(kind="recorded", how="by a test"))
    for kind, origin in (("recorded", {}), ("partly modelled", {"hints": Origin(kind="modelled", how="guessed")})):
        provenance = made.provenance.model_copy(update={"parts": parts | origin})
        path = written(made.model_copy(update={"provenance": provenance}), tmp_path)
        assert found("live", path)["simulated_from"] == kind


@pytest.mark.parametrize("placement", ["split", "shared", "fraction:share=0.5"])
def test_its_figures_are_those_of_the_simulator(path: Path, placement: str) -> None:
    simulator = Simulator(open_recording(path))
    for summary in found("live", path, "--placement", placement)["summary"]:
        result = simulator.run(Scenario(method=summary["method"], placement=parse_placement(placement)))
        latency = result.figures["latency"]
        assert isinstance(latency, dict)
        assert summary["total_seconds"] == pytest.approx(latency["mean"] * 5, rel=1e-12)
        assert summary["rounds"] == result.figures["rounds"]


def test_methods_and_a_limit_can_be_named(path: Path) -> None:
    some = found("live", path, "--method", "toolspec,oospec", "--limit", "2")
    assert [(each["method"], each["requests"]) for each in some["summary"]] == [("toolspec", 2), ("oospec", 2)]


def test_cut_waves_and_an_assumed_sharing_are_noted(tmp_path: Path) -> None:
    path = written(trace([request("r", 2, without=[(0, 0)], hinted=[[(0, 0)]], steps=40)]), tmp_path)
    notes = found("live", path, "--placement", "shared-fair")["notes"]
    assert any("1 of 1 waves" in note for note in notes)
    assert any("assumed" in note for note in notes)


def test_what_lies_outside_of_the_samples_is_noted(tmp_path: Path) -> None:
    made = trace([request("r", 4, without=[(0, 0)] * 3, steps=0)])
    few = [sample for sample in made.timing.target_verify if sample.tokens > 1]
    path = written(retimed(made, target_verify=few), tmp_path)
    assert any("3 of 3 verifies" in note for note in found("live", path)["notes"])


def test_a_trace_without_profiles_gives_ar_alone(tmp_path: Path) -> None:
    path = written(trace([run.model_copy(update={"profiles": []}) for run in random_requests(2, 1)]), tmp_path)
    assert [each["method"] for each in found("live", path)["summary"]] == ["ar"]
    assert "profiles" in refused("live", path, "--method", "oospec")


def test_a_timeline_can_be_drawn_and_never_over_the_trace(path: Path, tmp_path: Path) -> None:
    told("live", path, "--timeline", tmp_path / "x.json", "--json")
    assert json.loads((tmp_path / "x.json").read_text())["traceEvents"]
    before = path.read_bytes()
    assert "another file" in refused("live", path, "--timeline", path)
    assert path.read_bytes() == before


def test_bad_placements_methods_and_traces_are_named(path: Path) -> None:
    assert "did you mean 'shared'" in refused("live", path, "--placement", "shraed")
    for method in ("medusa", "pld", "oospec@zero"):
        line = refused("live", path, "--method", method)
        assert method in line
        assert str(path) in line
    assert "/nowhere/t.json" in refused("live", "/nowhere/t.json")


def test_neither_torch_nor_the_other_engine_is_imported(path: Path) -> None:
    heavy = "{'torch', 'transformers', 'simpy', 'sim.replay.replay'}"
    code = f"import sys, atexit; atexit.register(lambda: sys.stderr.write(repr({heavy} & set(sys.modules))))"
    done = spawned("live", path, "--json", code=code)
    assert (done.returncode, done.stderr.strip()) == (0, "set()")
