"""Studies: grids, assertions and workers."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from helpers.sim_studies import STUDY, make_study
from helpers.sim_studies import run_study as run
from oospec_async.errors import OospecError
from sim.cli import main
from sim.study.rows import open_rows
from sim.study.spec import read_study


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_study(tmp_path)


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
        ("scale_sidecar = [0.1, 1, 10]", "scale_sidecar = []", "grid.scale_sidecar: should not be empty"),
        ("scale_sidecar = [0.1, 1, 10]", "scale_sidecar = 3", "grid.scale_sidecar: a list is expected, not 3"),
        ("scale_sidecar = [0.1, 1, 10]", "scale_sidecar = [1, 1]", "twice"),
        ("scale_sidecar = [0.1, 1, 10]", "scale_sidecar = [1, 1.0]", "twice: 1.0"),
        ("scale_sidecar = [0.1, 1, 10]", "scale_sidecar = [1, '1']", "twice: '1'"),
        ("scale_sidecar = [0.1, 1, 10]", "placement = ['fraction', 'fraction:share=0.25']", "twice"),
        (
            "scale_sidecar = [0.1, 1, 10]",
            f"seed = {list(range(300))}\nlink_latency = {list(range(200))}",
            "120000 combinations; at most 100000",
        ),
        ("scale_sidecar = 10 }", "placement = 'shared', targets = 4 }", "no scenario of the grid has"),
        ("scale_sidecar = [0.1, 1, 10]", "scale_sidcar = [1]", "did you mean 'scale_sidecar'"),
        ("scale_sidecar = [0.1, 1, 10]", "placement = ['splitt']", "did you mean 'split'"),
        ('trace = "t.json"', "", "s.toml: trace: missing"),
        ('trace = "t.json"', 'trace = "x.json"', "x.json"),
        ('["toolspec",', '["tolspec",', "did you mean 'toolspec'"),
        ("wave_hidden.p50 >=", "wave_hiden.p50 >=", "did you mean 'wave_hidden.p50'"),
        ("wave_hidden.p50 >=", "wave_hidden >=", "wave_hidden.mean, wave_hidden.p05"),
        ("wave_hidden.p50 >= 0.5", "wave_hidden.p50 about 0.5", "METRIC ORDER NUMBER"),
        ("wave_hidden.p50 >= 0.5", "wave_hidden.p50 >= 1e", "no number"),
        ("scale_sidecar = 10 }", "scale_sidecar = 11 }", "no scenario of the grid has"),
        ("scale_sidecar = 10 }", "scale_sidekar = 11 }", "did you mean 'scale_sidecar'"),
        ("that =", "than =", "assert.0.that: missing"),
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
    rows = open_rows(kept, study)
    assert rows.rows == whole[:2]
    rows.close()
    assert json.loads(run(folder, "--json", "--rows", "r.jsonl").stdout)["rows"] == whole
    assert kept.read_text() == "".join(lines)


def test_rows_of_another_study_are_not_touched(folder: Path) -> None:
    (folder / "r.jsonl").write_text("mine\n")
    done = run(folder, "--rows", "r.jsonl")
    assert done.returncode == 2
    assert "holds something else than rows of this study, trace and version" in done.stderr
    assert (folder / "r.jsonl").read_text() == "mine\n"
    with pytest.raises(OospecError, match="cannot be written"):
        open_rows(folder / "nowhere" / "r.jsonl", read_study(folder / "s.toml"))


@pytest.mark.parametrize("option", ["--report", "--markdown", "--rows"])
@pytest.mark.parametrize("key", ["trace", "colocated", "study"])
def test_what_a_study_reads_is_never_written_over(folder: Path, option: str, key: str) -> None:
    content = (folder / "t.json").read_bytes()
    (folder / "o.json").write_bytes(content)
    text = STUDY.replace('trace = "t.json"', 'trace = "t.json"\ncolocated = "o.json"')
    (folder / "s.toml").write_text(text)
    victim = {"trace": "t.json", "colocated": "o.json", "study": "s.toml"}[key]
    done = run(folder, option, victim)
    assert done.returncode == 2
    assert f"{option} {victim}: is read or written already" in done.stderr
    assert (folder / "t.json").read_bytes() == (folder / "o.json").read_bytes() == content
    assert (folder / "s.toml").read_text() == text
    assert run(folder, "--report", "s.rows.jsonl").returncode == 2


def test_a_name_is_not_taken_for_markup_and_steers_no_terminal(folder: Path) -> None:
    (folder / "s.toml").write_text(STUDY.replace("Speeds | links", "a [/b] \\u001b]0;x"))
    done = run(folder)
    assert done.returncode == 0, done.stderr
    assert "a [/b] \\x1b]0;x: 6 scenarios" in done.stdout
    assert "\x1b" not in done.stdout


def test_nothing_stays_of_a_study_that_did_nothing(folder: Path) -> None:
    assert run(folder, "--workers", "many").returncode == 2
    assert sorted(path.name for path in folder.iterdir()) == ["s.toml", "t.json"]


def test_targets_and_sidecars_can_vary_on_a_shared_device(folder: Path) -> None:
    """What the placement cannot have is left out, and said; a condition is read field by field."""
    (folder / "s.toml").write_text(
        'trace = "t.json"\n[grid]\nplacement = ["split", "shared"]\ntargets = [1, 4]\nsidecars = [1, 4]\n'
        '[[assert]]\nthat = "devices == 4"\nwhere = { placement = "shared", targets = 4 }\n'
    )
    done = run(folder, "--json")
    assert done.returncode == 0, done.stderr
    assert "2 of 8 combinations are left out: " in done.stderr
    found = json.loads(done.stdout)
    assert len(found["rows"]) == 6
    assert any("2 of 8 combinations" in note for note in found["notes"])
    (folder / "s.toml").write_text('trace = "t.json"\n[grid]\nplacement = ["shared"]\ntargets = [1, 4]\n')
    assert [r["scenario"]["sidecars"] for r in json.loads(run(folder, "--json").stdout)["rows"]] == [1, 4]


def test_an_endless_speed_is_an_axis_like_others(folder: Path) -> None:
    (folder / "s.toml").write_text(
        STUDY.replace("[0.1, 1, 10]", "[1, 10, inf]").replace("scale_sidecar = 10 }", "scale_sidecar = inf }")
    )
    done = run(folder, "--json", "--report", "r.html")
    assert done.returncode == 0, done.stderr
    assert "Infinity" not in done.stdout + (folder / "r.html").read_text()
    assert json.loads(done.stdout)["rows"][-1]["scenario"]["scale_sidecar"] == "inf"
