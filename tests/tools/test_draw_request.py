"""The picture of one request: which one is drawn, that it holds every round, and what cannot be drawn."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any
from xml.dom import minidom

import pytest

from helpers.sim_traces import PLAIN, observed, observed_run, random_requests, trace
from oospec_async.trace import RequestTrace, Trace, write_trace
from sim.recording import Recording
from sim.scenario import Scenario
from sim.simulator import Simulator

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
draw_request: Any = importlib.import_module("draw_request")


def recorded() -> Trace:
    """Every request as it was observed with hints, and as the simulator has it without."""
    made = observed(trace(random_requests(5, 0, PLAIN), PLAIN))
    served = Simulator(Recording(made)).replay(Scenario(method="oospec@alone")).served
    plain = [
        observed_run(run.model_copy(update={"wave": None}), each)
        for run, each in zip(made.requests, served, strict=True)
    ]
    bare = {"method": "toolspec", "publishes": [], "payload_bytes": 0}
    plain = [run.model_copy(update={**bare, "profiles": run.profiles[:1]}) for run in plain]
    return made.model_copy(update={"requests": [*made.requests, *plain]})


def gain(made: Trace, index: int) -> float:
    """Of the request's decode: its time without hints over its time with them."""

    def decode(run: RequestTrace) -> float:
        return run.rounds[-1].start + run.rounds[-1].seconds - run.rounds[0].start

    return decode(made.requests[5 + index]) / decode(made.requests[index])


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "trace.json"
    write_trace(recorded(), path)
    return path


def test_the_request_with_the_median_gain_is_drawn() -> None:
    made = recorded()
    name, runs = draw_request.runs_of(made, None)
    typical = sorted(range(5), key=lambda index: gain(made, index))[2]
    assert name == made.requests[typical].request
    assert runs == {"oospec": made.requests[typical], "toolspec": made.requests[5 + typical]}


def test_the_picture_tells_what_every_round_committed_and_is_the_same_each_time(saved: Path, tmp_path: Path) -> None:
    made = recorded()
    asked = made.requests[0]
    out = [tmp_path / "a.svg", tmp_path / "b.svg"]
    for path in out:
        assert draw_request.main([str(saved), "--out", str(path), "--request", asked.request]) == 0
    assert out[0].read_bytes() == out[1].read_bytes()
    text = out[0].read_text()
    for part in (f"{asked.request}: {asked.output_tokens} tokens", "toolspec: target", f"{asked.method}: sidecar"):
        assert f"<!-- {part} -->" in text
    ends = {f"{run.rounds[-1].start + run.rounds[-1].seconds:.2f} s" for run in (asked, made.requests[5])}
    assert all(f"{end} -->" in text for end in ends)


@pytest.mark.parametrize("name", ["[bold]odd[/no]", "x\x1b[31m", "$\\frac{", "天气"])
def test_a_name_is_drawn_as_it_is(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made, path = recorded(), tmp_path / "trace.json"
    old = made.requests[0].request
    write_trace(Trace.model_validate_json(made.model_dump_json().replace(f'"{old}"', json.dumps(name))), path)
    assert draw_request.main([str(path), "--out", str(tmp_path / "x.svg"), "--request", name]) == 0
    minidom.parse(str(tmp_path / "x.svg"))
    assert "\x1b" not in capsys.readouterr().err


def test_a_decode_that_took_no_time_can_be_drawn() -> None:
    made = recorded()
    still = [each.model_copy(update={"start": 1.0, "seconds": 0.0}) for each in made.requests[0].rounds]
    runs = [made.requests[0].model_copy(update={"rounds": still}), *made.requests[1:]]
    assert draw_request.runs_of(made.model_copy(update={"requests": runs}), None)[0]


def test_the_trace_itself_is_not_written_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "trace.svg"
    write_trace(recorded(), path)
    before = path.read_bytes()
    assert draw_request.main([str(path), "--out", str(path)]) == 2
    assert f"--out {path}: is read or written already" in capsys.readouterr().err
    assert path.read_bytes() == before


def test_what_cannot_be_drawn_is_one_line(saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bare = tmp_path / "bare.json"
    write_trace(observed(trace(random_requests(3, 1, PLAIN), PLAIN), 1), bare)
    out = tmp_path / "x.svg"
    for arguments, said in (
        ([saved, "--out", out, "--request", "no such"], "no such"),
        ([bare, "--out", out], f"{bare}: requests: none has recorded rounds with a hint and without one"),
        ([saved, "--out", tmp_path / "x.pdf"], "x.pdf"),
        ([tmp_path / "none.json", "--out", out], "none.json"),
        ([saved, "--out", tmp_path / "none" / "x.svg"], "--out"),
    ):
        assert draw_request.main([*map(str, arguments)]) == 2
        error = capsys.readouterr().err
        assert said in error
        assert error.count("\n") == 1
    assert not out.exists()
