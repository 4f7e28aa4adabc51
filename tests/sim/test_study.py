"""Studies: grids, assertions, workers, and going on after an interruption."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from helpers.sim_traces import random_requests, trace
from oospec_async.errors import OospecError
from oospec_async.trace import write_trace
from sim.cli import main
from sim.study.rows import Rows
from sim.study.spec import read_study

STUDY = """
name = "Speeds | links"
about = "A small grid."
trace = "t.json"
[grid]
scale_sidecar = [0.1, 1, 10]
method = ["toolspec", "oospec"]
[[assert]]
that = "speedup_vs_toolspec.mean >= 1"
[[assert]]
that = "wave_hidden.p50 >= 0.5"
where = { method = "oospec", scale_sidecar = 10 }
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_trace(trace(random_requests(6, 2), noise=0.1), tmp_path / "t.json")
    (tmp_path / "s.toml").write_text(STUDY)
    return tmp_path


def run(folder: Path, *arguments: str, path: str = "") -> subprocess.CompletedProcess[str]:
    code = f"import sys; sys.path[:0] = {[path] if path else []!r}; from sim.entry import main; main()"
    command = [sys.executable, "-c", code, "study", "s.toml", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, cwd=folder)


def test_a_study_that_holds_ends_with_0_and_leaves_nothing_behind(folder: Path) -> None:
    done = run(folder)
    assert done.returncode == 0, done.stderr
    assert "6 scenarios, simulated from modelled parts" in done.stdout
    assert done.stdout.count("holds  ") == 2
    assert sorted(path.name for path in folder.iterdir()) == ["s.toml", "t.json"]


def test_json_has_rows_in_the_order_of_the_grid_the_last_axis_fastest(folder: Path) -> None:
    found = json.loads(run(folder, "--json").stdout)
    assert [(r["scenario"]["scale_sidecar"], r["scenario"]["method"]) for r in found["rows"]] == [
        (speed, method) for speed in (0.1, 1.0, 10.0) for method in ("toolspec", "oospec")
    ]
    assert [a["holds"] for a in found["assertions"]] == [True, True]
    assert found["simulated_from"] == "modelled"


def test_a_failed_assertion_names_its_scenario_and_ends_with_1(folder: Path) -> None:
    (folder / "s.toml").write_text(
        STUDY + '[[assert]]\nthat = "speedup_vs_ar.p05 > 50"\nwhere = { scale_sidecar = 1 }\n'
    )
    done = run(folder)
    assert done.returncode == 1
    assert "FAILS" in done.stdout
    (first, second) = done.stderr.splitlines()[-2:]
    assert "speedup_vs_ar.p05 > 50" in first
    assert "method=toolspec" in first
    assert "method=oospec" in second
    assert json.loads(run(folder, "--json").stdout)["assertions"][2]["failed"][0]["scenario"]["method"] == "toolspec"


def test_a_figure_that_is_not_there_fails(folder: Path) -> None:
    (folder / "s.toml").write_text(
        STUDY + '[[assert]]\nthat = "hint_arrival.p50 < 9"\nwhere = { method = "toolspec" }\n'
    )
    done = run(folder)
    assert done.returncode == 1
    assert "there is no such figure" in done.stderr


def test_markdown_is_appended(folder: Path) -> None:
    summary = folder / "summary.md"
    summary.write_text("before\n")
    assert run(folder, "--markdown", str(summary)).returncode == 0
    text = summary.read_text()
    assert text.startswith("before\n### Speeds \\| links\n")
    table = [line for line in text.splitlines() if line.startswith("| ")]
    assert len(table) == 8
    assert len({line.replace("\\|", "").count("|") for line in table}) == 1
    assert text.count("✅") == 2
    assert "MODELLED" in text


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("[grid]", "[gird]", "did you mean 'grid'"),
        ("scale_sidecar = [0.1, 1, 10]", "scale_sidecar = []", "grid.scale_sidecar"),
        ("scale_sidecar = [0.1, 1, 10]", "scale_sidecar = 3", "grid.scale_sidecar"),
        ("scale_sidecar = [0.1, 1, 10]", "scale_sidecar = [1, 1]", "twice"),
        ("scale_sidecar = [0.1, 1, 10]", "scale_sidcar = [1]", "did you mean 'scale_sidecar'"),
        ("scale_sidecar = [0.1, 1, 10]", "placement = ['splitt']", "did you mean 'split'"),
        ('trace = "t.json"', "", "trace is missing"),
        ('trace = "t.json"', 'trace = "x.json"', "x.json"),
        ('["toolspec",', '["tolspec",', "did you mean 'toolspec'"),
        ("wave_hidden.p50 >=", "wave_hiden.p50 >=", "did you mean 'wave_hidden.p50'"),
        ("wave_hidden.p50 >=", "wave_hidden >=", "wave_hidden.mean, wave_hidden.p05"),
        ("wave_hidden.p50 >= 0.5", "wave_hidden.p50 about 0.5", "METRIC ORDER NUMBER"),
        ("wave_hidden.p50 >= 0.5", "wave_hidden.p50 >= 1e", "no number"),
        ("scale_sidecar = 10 }", "scale_sidecar = 11 }", "no scenario of the grid has"),
        ("scale_sidecar = 10 }", "scale_sidekar = 11 }", "did you mean 'scale_sidecar'"),
        ("that =", "than =", "write that"),
        ("[[assert]]", "[assert]", "assert"),
        ('name = "', 'name = "\n', "not TOML"),
    ],
)
def test_what_is_wrong_with_a_study_is_one_line(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    old: str,
    new: str,
    said: str,
) -> None:
    (folder / "s.toml").write_text(STUDY.replace(old, new))
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", ["oospec-sim", "study", "s.toml"])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 2
    out, err = capsys.readouterr()
    assert out == ""
    (line,) = err.splitlines()
    assert line.startswith("oospec-sim: ")
    assert said in line


def test_a_grid_that_is_empty_is_refused(folder: Path) -> None:
    (folder / "s.toml").write_text('trace = "t.json"\n[grid]\n')
    assert "grid: empty" in run(folder).stderr


def test_workers_are_a_number_or_ray(folder: Path) -> None:
    for text in ("0", "many", "-1"):
        done = run(folder, "--workers", text)
        assert done.returncode == 2
        assert "--workers" in done.stderr


def test_without_ray_it_is_said_how_to_get_it(folder: Path) -> None:
    empty = folder / "ray"
    empty.mkdir()
    (empty / "__init__.py").write_text("raise ModuleNotFoundError(name='ray')")
    done = run(folder, "--workers", "ray", path=str(folder))
    assert done.returncode == 2
    assert "pip install '.[ray]'" in done.stderr


def test_rays_pool_gives_the_same_rows(folder: Path) -> None:
    package = folder / "ray" / "util"
    package.mkdir(parents=True)
    for init in (folder / "ray" / "__init__.py", package / "__init__.py"):
        init.write_text("")
    (package / "multiprocessing.py").write_text("from multiprocessing.pool import ThreadPool as Pool\n")
    assert run(folder, "--json", "--workers", "ray", path=str(folder)).stdout == run(folder, "--json").stdout


def test_finished_rows_are_taken_over_and_a_torn_one_is_not(folder: Path) -> None:
    study = read_study(folder / "s.toml")
    whole = json.loads(run(folder, "--json", "--rows", "r.jsonl").stdout)["rows"]
    kept = folder / "r.jsonl"
    lines = kept.read_text().splitlines(keepends=True)
    assert len(lines) == 7
    kept.write_text("".join(lines[:3]) + lines[3][:40])
    rows = Rows(kept, study)
    assert rows.rows == whole[:2]
    rows.close(remove=False)
    assert json.loads(run(folder, "--json", "--rows", "r.jsonl").stdout)["rows"] == whole
    assert kept.read_text() == "".join(lines)


def test_rows_of_another_study_are_not_touched(folder: Path) -> None:
    (folder / "r.jsonl").write_text("mine\n")
    done = run(folder, "--rows", "r.jsonl")
    assert done.returncode == 2
    assert "remove it, or name another file" in done.stderr
    assert (folder / "r.jsonl").read_text() == "mine\n"
    with pytest.raises(OospecError, match="cannot be written"):
        Rows(folder / "nowhere" / "r.jsonl", read_study(folder / "s.toml"))


def waits_for(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.parametrize("workers", ["1", "2"])
def test_an_interrupted_study_goes_on_from_where_it_was(folder: Path, workers: str) -> None:
    seeds = ", ".join(str(seed) for seed in range(120))
    (folder / "s.toml").write_text(
        f'name = "long"\ntrace = "t.json"\n[scenario]\njitter = true\n[grid]\nseed = [{seeds}]\n'
    )
    code = "from sim.entry import main; main()"
    command = [sys.executable, "-c", code, "study", "s.toml", "--json", "--workers", workers]
    kept = folder / "s.rows.jsonl"
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        waits_for(lambda: kept.exists() and len(kept.read_bytes().splitlines()) > 3)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert out == ""
    assert "Traceback" not in err
    assert "the same command goes on from there" in err
    finished = len(kept.read_bytes().splitlines()) - 1
    assert f"{finished} of 120" in err
    again = run(folder, "--json", "--workers", "1")
    assert len(json.loads(again.stdout)["rows"]) == 120
    assert not kept.exists()
