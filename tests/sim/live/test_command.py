"""``oospec-run --trace``: what it prints, that it needs no torch and no SimPy, and what it says to bad input."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from helpers.sim_traces import random_requests, request, trace
from oospec_async.commands.cli import command
from oospec_async.errors import OospecError
from oospec_async.trace import Origin, Trace, write_trace
from sim.costs.recording import open_recording
from sim.figures.simulator import Simulator
from sim.scenario.placement import parse_placement
from sim.scenario.scenario import Scenario


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "t.json"
    write_trace(trace(random_requests(5, 1)), path)
    return path


def told(*arguments: str) -> str:
    """What a command prints on stdout."""
    done = CliRunner().invoke(command, arguments, catch_exceptions=False)
    assert done.exit_code == 0
    return done.stdout


def refused(*arguments: str) -> str:
    with pytest.raises(OospecError) as error:
        CliRunner().invoke(command, arguments, catch_exceptions=False)
    line = str(error.value)
    assert "\n" not in line
    return line


def results(*arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(told(*arguments, "--json"))
    return found


def test_the_table_says_that_it_is_simulated_and_on_what_it_rests(path: Path) -> None:
    text = " ".join(told("--trace", str(path)).split())
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
        write_trace(made.model_copy(update={"provenance": provenance}), tmp_path / "t.json")
        assert results("--trace", str(tmp_path / "t.json"))["simulated_from"] == kind


@pytest.mark.parametrize("placement", ["split", "shared", "fraction:share=0.5"])
def test_its_figures_are_those_of_the_simulator(path: Path, placement: str) -> None:
    found = results("--trace", str(path), "--placement", placement)
    simulator = Simulator(open_recording(path))
    for summary in found["summary"]:
        result = simulator.run(Scenario(method=summary["method"], placement=parse_placement(placement)))
        latency = result.figures["latency"]
        assert isinstance(latency, dict)
        assert summary["total_seconds"] == pytest.approx(latency["mean"] * 5, rel=1e-12)
        assert summary["rounds"] == result.figures["rounds"]


def test_methods_and_a_limit_can_be_named(path: Path) -> None:
    found = results("--trace", str(path), "--compare", "toolspec,oospec", "--limit", "2")
    assert [(each["method"], each["requests"]) for each in found["summary"]] == [("toolspec", 2), ("oospec", 2)]
    assert [each["method"] for each in results("--trace", str(path), "--method", "ar")["summary"]] == ["ar"]


def test_cut_waves_and_an_assumed_sharing_are_noted(tmp_path: Path) -> None:
    cut = trace([request("r", 2, without=[(0, 0)], hinted=[[(0, 0)]], steps=40)])
    write_trace(cut, tmp_path / "t.json")
    notes = results("--trace", str(tmp_path / "t.json"), "--placement", "shared-fair")["notes"]
    assert any("1 of 1 waves" in note for note in notes)
    assert any("assumed" in note for note in notes)


def test_what_lies_outside_of_the_samples_is_noted(tmp_path: Path) -> None:
    made = trace([request("r", 4, without=[(0, 0)] * 3, steps=0)])
    few = made.timing.model_copy(update={"target_verify": [s for s in made.timing.target_verify if s.tokens > 1]})
    write_trace(made.model_copy(update={"timing": few}), tmp_path / "t.json")
    assert any("3 of 3 verifies" in note for note in results("--trace", str(tmp_path / "t.json"))["notes"])


def test_a_trace_without_profiles_gives_ar_alone(tmp_path: Path) -> None:
    bare = random_requests(2, 1)
    write_trace(trace([run.model_copy(update={"profiles": []}) for run in bare]), tmp_path / "t.json")
    found = results("--trace", str(tmp_path / "t.json"))
    assert [each["method"] for each in found["summary"]] == ["ar"]
    assert "profiles" in refused("--trace", str(tmp_path / "t.json"), "--method", "oospec")


def test_a_timeline_can_be_drawn(path: Path, tmp_path: Path) -> None:
    told("--trace", str(path), "--timeline", str(tmp_path / "x.json"), "--json")
    drawn = json.loads((tmp_path / "x.json").read_text())
    assert drawn


def test_bad_placements_and_methods_are_named(path: Path) -> None:
    assert "did you mean 'shared'" in refused("--trace", str(path), "--placement", "shraed")
    assert "share" in refused("--trace", str(path), "--placement", "fraction:share=2")
    for method in ("medusa", "pld", "oospec@zero"):
        line = refused("--trace", str(path), "--method", method)
        assert method in line
        assert str(path) in line


def test_options_of_live_runs_do_not_go_with_a_trace(path: Path) -> None:
    assert "--live" in refused("--trace", str(path), "--live")
    assert "--max-new-tokens" in refused("--trace", str(path), "--max-new-tokens", "5")
    assert "REQUESTS" in refused(str(path), "--trace", str(path))
    assert "--placement" in refused("--live", "--placement", "shared")


def test_the_trace_is_never_written_over(path: Path) -> None:
    before = path.read_bytes()
    assert str(path) in refused("--trace", str(path), "--timeline", str(path))
    assert path.read_bytes() == before


def damaged(made: Trace, folder: Path, **changes: object) -> str:
    text = made.model_dump(mode="json")
    text["requests"][0].update(changes)
    (folder / "bad.json").write_text(json.dumps(text))
    return str(folder / "bad.json")


def test_bad_traces_are_named_with_the_field(tmp_path: Path) -> None:
    made = trace(random_requests(1, 1))
    for bad, field in (
        (damaged(made, tmp_path, output_tokens=3), "requests.0.profiles.0"),
        ("/nowhere/t.json", "/nowhere/t.json"),
    ):
        line = refused("--trace", bad)
        assert bad in line
        assert field in line
    line = refused("--trace", damaged(made, tmp_path, prompt_tokens=-1))
    assert "requests.0.prompt_tokens" in line


def test_a_bad_trace_is_one_line_and_exit_code_2(tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text("{oops")
    code = "from oospec_async.console.entry import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "--trace", str(tmp_path / "bad.json")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"oospec-run: {tmp_path / 'bad.json'}")


def test_neither_torch_nor_the_other_engine_is_imported(path: Path) -> None:
    code = (
        "import sys; from oospec_async.commands.cli import command; "
        f"command.main(['--trace', {str(path)!r}], standalone_mode=False); "
        "found = {'torch', 'transformers', 'simpy', 'sim.replay'} & set(sys.modules); "
        "sys.exit(repr(found) if found else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
