"""Studies: grids, assertions and workers."""

from __future__ import annotations

import json
import sys
from multiprocessing.pool import ThreadPool
from pathlib import Path
from types import SimpleNamespace

import pytest

from helpers.sim_command import found, refused, run, told
from helpers.sim_studies import STUDY, make_study
from oospec_async.errors import OospecError
from sim.study.rows import open_rows
from sim.study.spec import read_study


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return make_study(tmp_path)


def write(text: str) -> None:
    Path("s.toml").write_text(text)


@pytest.mark.usefixtures("folder")
def test_a_study_that_holds_ends_with_0_and_leaves_nothing_behind() -> None:
    table = told("study", "s.toml")
    assert "6 scenarios, simulated from modelled parts" in table
    assert table.count("holds  ") == 2
    assert sorted(path.name for path in Path().iterdir()) == ["s.toml", "t.json"]


@pytest.mark.usefixtures("folder")
def test_json_has_rows_in_the_order_of_the_grid_the_last_axis_fastest() -> None:
    results = found("study", "s.toml")
    assert [(r["scenario"]["scale_sidecar"], r["scenario"]["method"]) for r in results["rows"]] == [
        (speed, method) for speed in (0.1, 1.0, 10.0) for method in ("toolspec", "oospec")
    ]
    assert [a["holds"] for a in results["assertions"]] == [True, True]
    assert results["simulated_from"] == "modelled"


@pytest.mark.usefixtures("folder")
def test_a_failed_assertion_names_its_scenario_and_ends_with_1() -> None:
    write(STUDY + '[[assert]]\nthat = "speedup_vs_ar.p05 > 50"\nwhere = { scale_sidecar = 1 }\n')
    done = run("study", "s.toml")
    assert done.code == 1
    assert "FAILS" in done.out
    (first, second) = done.err.splitlines()[-2:]
    assert "speedup_vs_ar.p05 > 50" in first
    assert "method=toolspec" in first
    assert "method=oospec" in second
    failed = json.loads(run("study", "s.toml", "--json").out)["assertions"][2]["failed"]
    assert failed[0]["scenario"]["method"] == "toolspec"


@pytest.mark.usefixtures("folder")
def test_a_figure_that_is_not_there_fails() -> None:
    write(STUDY + '[[assert]]\nthat = "hint_arrival.p50 < 9"\nwhere = { method = "toolspec" }\n')
    done = run("study", "s.toml")
    assert done.code == 1
    assert "there is no such figure" in done.err


@pytest.mark.usefixtures("folder")
def test_markdown_is_appended() -> None:
    summary = Path("summary.md")
    summary.write_text("before\n")
    told("study", "s.toml", "--markdown", summary)
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
        (STUDY, 'trace = "t.json"\n[grid]\n', "grid: empty"),
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
@pytest.mark.usefixtures("folder")
def test_what_is_wrong_with_a_study_is_one_line(old: str, new: str, said: str) -> None:
    write(STUDY.replace(old, new))
    assert said in refused("study", "s.toml")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("workers", ["0", "many", "-1"])
def test_workers_are_a_number_or_ray(workers: str) -> None:
    assert "--workers" in refused("study", "s.toml", "--workers", workers)
    assert sorted(path.name for path in Path().iterdir()) == ["s.toml", "t.json"]  # nothing stays of it


@pytest.mark.usefixtures("folder")
def test_without_ray_it_is_said_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    assert "pip install '.[ray]'" in refused("study", "s.toml", "--workers", "ray")


@pytest.mark.usefixtures("folder")
def test_rays_pool_gives_the_same_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ray", "ray.util", "ray.util.multiprocessing"):
        monkeypatch.setitem(sys.modules, name, SimpleNamespace(Pool=ThreadPool))
    assert found("study", "s.toml", "--workers", "ray") == found("study", "s.toml")


def test_finished_rows_are_taken_over_and_a_torn_one_is_not(folder: Path) -> None:
    whole = found("study", "s.toml", "--rows", "r.jsonl")["rows"]
    kept = folder / "r.jsonl"
    lines = kept.read_text().splitlines(keepends=True)
    assert len(lines) == 7
    kept.write_text("".join(lines[:3]) + lines[3][:40])
    rows = open_rows(kept, read_study(folder / "s.toml"))
    assert rows.rows == whole[:2]
    rows.close()
    assert found("study", "s.toml", "--rows", "r.jsonl")["rows"] == whole
    assert kept.read_text() == "".join(lines)


def test_rows_of_another_study_are_not_touched(folder: Path) -> None:
    (folder / "r.jsonl").write_text("mine\n")
    line = refused("study", "s.toml", "--rows", "r.jsonl")
    assert "holds something else than rows of this study, trace and version" in line
    assert (folder / "r.jsonl").read_text() == "mine\n"
    with pytest.raises(OospecError, match="cannot be written"):
        open_rows(folder / "nowhere" / "r.jsonl", read_study(folder / "s.toml"))


@pytest.mark.parametrize("option", ["--report", "--markdown", "--rows"])
@pytest.mark.parametrize("victim", ["t.json", "o.json", "s.toml"])
def test_what_a_study_reads_is_never_written_over(folder: Path, option: str, victim: str) -> None:
    content = (folder / "t.json").read_bytes()
    (folder / "o.json").write_bytes(content)
    text = STUDY.replace('trace = "t.json"', 'trace = "t.json"\ncolocated = "o.json"')
    write(text)
    assert f"{option} {victim}: is read or written already" in refused("study", "s.toml", option, victim)
    assert (folder / "t.json").read_bytes() == (folder / "o.json").read_bytes() == content
    assert (folder / "s.toml").read_text() == text
    assert "written already" in refused("study", "s.toml", "--report", "s.rows.jsonl")


@pytest.mark.usefixtures("folder")
def test_a_name_is_not_taken_for_markup_and_steers_no_terminal() -> None:
    write(STUDY.replace("Speeds | links", "a [/b] \\u001b]0;x"))
    table = told("study", "s.toml")
    assert "a [/b] \\x1b]0;x: 6 scenarios" in table
    assert "\x1b" not in table


@pytest.mark.usefixtures("folder")
def test_targets_and_sidecars_can_vary_on_a_shared_device() -> None:
    """What the placement cannot have is left out, and said; a condition is read field by field."""
    write(
        'trace = "t.json"\n[grid]\nplacement = ["split", "shared"]\ntargets = [1, 4]\nsidecars = [1, 4]\n'
        '[[assert]]\nthat = "devices == 4"\nwhere = { placement = "shared", targets = 4 }\n'
    )
    done = run("study", "s.toml", "--json")
    assert done.code == 0, done.err
    assert "2 of 8 combinations are left out: " in done.err
    results = json.loads(done.out)
    assert len(results["rows"]) == 6
    assert any("2 of 8 combinations" in note for note in results["notes"])
    write('trace = "t.json"\n[grid]\nplacement = ["shared"]\ntargets = [1, 4]\n')
    assert [row["scenario"]["sidecars"] for row in found("study", "s.toml")["rows"]] == [1, 4]


@pytest.mark.usefixtures("folder")
def test_an_endless_speed_is_an_axis_like_others() -> None:
    write(STUDY.replace("[0.1, 1, 10]", "[1, 10, inf]").replace("scale_sidecar = 10 }", "scale_sidecar = inf }"))
    text = told("study", "s.toml", "--json", "--report", "r.html")
    assert "Infinity" not in text + Path("r.html").read_text()
    assert json.loads(text)["rows"][-1]["scenario"]["scale_sidecar"] == "inf"
