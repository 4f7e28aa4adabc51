"""Figures from rows of known numbers, against what a hand calculates; the report command; the picture."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from plotly import graph_objects

from helpers import bench
from oospec_async.errors import OospecError
from tools import bench as command
from tools.benchmark import rows
from tools.benchmark.report import figures, picture

REQUESTS = {"q_1": "q", "p_1": "p"}
TOKENS = list(range(13))


def hint(
    size: int, versions: int, seconds: float, position: int, wave: float, *, whole: bool = False
) -> dict[str, Any]:
    arrival = {"arrival_seconds": seconds, "arrival_position": position, "whole_at_first_round": whole}
    return {"payload_bytes": size, "versions": versions, "wave_seconds": wave, **arrival}


HINTS: dict[tuple[str, int], dict[str, Any]] = {
    ("q_1", 0): hint(80, 1, 0.1, 1, 0.3, whole=True),
    ("p_1", 0): hint(100, 2, 0.2, 3, 0.5),
    ("q_1", 1): {},
    ("p_1", 1): hint(90, 1, 0.4, 5, 0.4),
}
# By method and request: in each run total, decode, rounds.
NUMBERS: dict[str, dict[str, list[tuple[float, float, int]]]] = {
    "generate": {"q_1": [(3, 2, 12), (4, 3, 12)], "p_1": [(3, 1, 12), (6, 3, 12)]},
    "ar": {"q_1": [(4, 3, 12), (5, 4, 12)], "p_1": [(2, 1, 12), (3, 1, 12)]},
    "toolspec": {"q_1": [(2, 1, 10), (2, 1, 12)], "p_1": [(1, 0.5, 6), (2, 1, 6)]},
    "oospec": {"q_1": [(1, 0.5, 6), (2, 1, 8)], "p_1": [(1, 0.5, 4), (0.5, 0.25, 4)]},
    "oospec@perfect": {"q_1": [(1, 0.5, 2), (1, 0.5, 2)], "p_1": [(1, 0.5, 3), (1, 0.5, 3)]},
}


def known(path: Path) -> Path:
    made = []
    for method, requests in NUMBERS.items():
        for request, runs in requests.items():
            for run, (total, decode, rounds) in enumerate(runs):
                more: dict[str, Any] = {} if method == "generate" else {"host": decode / 10, "drafted": 2 * rounds}
                if method == "oospec":
                    more |= {"hint": HINTS[request, run], "sources": {"hint": 5, "": 8}}
                made.append(
                    bench.row(
                        run, request, method, total=total, first=total - decode, prefill=0.25, decode=decode,
                        rounds=rounds, tokens=TOKENS, **more,
                    )
                )  # fmt: skip
    return bench.write(path, bench.header(list(NUMBERS), REQUESTS, runs=2), *made)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return known(tmp_path / "rows.jsonl")


@pytest.fixture
def summary(path: Path) -> Any:
    return figures.summarise(rows.read_rows(path))


def test_times_are_medians_of_the_sums_of_runs(summary: Any) -> None:
    assert (summary.runs, summary.requests, summary.left_out) == (2, 2, 0)
    oospec = summary.methods["oospec"]
    total = oospec.times["total_seconds"]
    assert (total.low, total.median, total.high) == (2.0, 2.25, 2.5)
    assert total.spread == pytest.approx(0.5 / 2.25)
    assert oospec.times["first_token_seconds"].median == pytest.approx(1.125)  # 1.0 and 1.25
    assert oospec.times["prefill_seconds"].median == 0.5
    assert oospec.times["decode_seconds"].median == 1.125
    assert oospec.times["host_seconds"].median == pytest.approx(0.1125)
    assert summary.methods["generate"].times["host_seconds"] is None


def test_counts(summary: Any) -> None:
    oospec = summary.methods["oospec"]
    assert (oospec.tokens, oospec.rounds, oospec.drafted) == (26, 11, 22)
    assert oospec.mean_accepted == pytest.approx(48 / 22)  # 12 tokens after the first, four times
    assert oospec.sources == {"hint": 10, "": 16}
    assert summary.rounds_saved == pytest.approx((17 - 11) / (17 - 5))


def test_speedups_divide_sums_of_the_same_run(summary: Any) -> None:
    oospec = summary.methods["oospec"]
    assert (summary.baseline, summary.reference) == ("ar", "generate")
    total = oospec.total_speedup
    assert (total.low, total.median, total.high) == (3.0, pytest.approx(3.1), pytest.approx(3.2))
    assert oospec.decode_speedup.median == 4.0  # 4 / 1 and 5 / 1.25
    plain = oospec.decode_speedup_over_plain
    assert (plain.low, plain.median, plain.high) == (3.0, 3.5, 4.0)  # generate's 3 / 1, then ar's 5 / 1.25
    pair = summary.oospec_over_toolspec
    assert pair.total_speedup.median == pytest.approx((3 / 2 + 4 / 2.5) / 2)
    assert pair.decode_speedup.median == pytest.approx((1.5 / 1 + 2 / 1.25) / 2)
    assert summary.methods["ar"].total_speedup.spread == 0.0


def test_ratios_by_request_are_of_medians_over_runs(summary: Any) -> None:
    ratios = summary.methods["oospec"].total_ratios
    low, high = 4.5 / 1.5, 2.5 / 0.75
    assert ratios.p05 == pytest.approx(low + 0.05 * (high - low))
    assert ratios.p50 == pytest.approx((low + high) / 2)
    assert ratios.p95 == pytest.approx(low + 0.95 * (high - low))


def test_hints(summary: Any) -> None:
    hints = summary.methods["oospec"].hints
    assert hints.payload_bytes == 90
    assert (hints.arrived, hints.whole_at_first_round) == (0.75, 0.25)
    assert (hints.arrival_seconds, hints.arrival_position) == (0.2, 3)
    assert hints.wave_seconds == pytest.approx(0.4)
    assert summary.methods["toolspec"].hints is None


def test_categories(summary: Any) -> None:
    found = summary.methods["oospec"].categories
    assert list(found) == ["q", "p"]
    assert (found["q"].requests, found["q"].rounds) == (1, 7)
    assert found["q"].total_speedup.median == pytest.approx((4 / 1 + 5 / 2) / 2)
    assert found["p"].decode_speedup.median == pytest.approx((1 / 0.5 + 1 / 0.25) / 2)
    names = ("multiple_3", "b_12-x", "weather-lisbon", "a_b")
    assert [command.category(name, Path("a/set.jsonl")) for name in names] == ["multiple", "b", "set", "set"]


def test_outputs_that_differ_are_listed_with_position_and_margin(tmp_path: Path) -> None:
    made = [
        bench.row(0, "q_1", "generate", total=1, tokens=[1, 2, 3]),
        bench.row(0, "q_1", "ar", total=1, tokens=[1, 2, 3], margins=[0.4, 0.2, 0.1]),
        bench.row(0, "q_1", "pld", total=1, tokens=[1, 9, 3], margins=[0.5, 0.25, 0.1]),
        bench.row(0, "q_1", "generate+lookup", total=1, tokens=[1, 2]),
    ]
    methods = [row.method for row in made]
    for dtype, code in (("bfloat16", 0), ("float32", 1)):
        path = bench.write(tmp_path / "rows.jsonl", bench.header(methods, {"q_1": "q"}, dtype=dtype), *made)
        summary = figures.summarise(rows.read_rows(path))
        assert summary.exit_code == code
        (pld,), (lookup,) = (summary.methods[name].differences for name in ("pld", "generate+lookup"))
        assert (pld.request, pld.position, pld.margin, pld.runs) == ("q_1", 1, 0.2, [0])
        assert (lookup.position, lookup.margin) == (2, 0.1)
        assert not summary.methods["ar"].differences


def test_a_request_that_failed_by_one_method_is_left_out_of_all_and_counted(tmp_path: Path) -> None:
    made = [bench.row(0, "q_1", "ar", total=4), bench.row(0, "q_1", "pld", total=2), bench.row(0, "p_1", "ar", total=9)]
    head = bench.header(["ar", "pld"], REQUESTS)
    path = bench.write(tmp_path / "rows.jsonl", head, *made, bench.failed(0, "p_1", "pld", "too long"))
    summary = figures.summarise(rows.read_rows(path))
    assert (summary.runs, summary.requests, summary.left_out, summary.exit_code) == (1, 1, 1, 1)
    assert summary.methods["pld"].total_speedup.median == 2.0
    assert (summary.methods["pld"].errors, summary.methods["ar"].errors) == (1, 0)


def test_figures_are_of_complete_runs_or_of_what_the_first_has(tmp_path: Path) -> None:
    made = [bench.row(0, r, m, total=t) for r, m, t in (("q_1", "ar", 4), ("q_1", "pld", 2), ("p_1", "ar", 1))]
    path, head = tmp_path / "rows.jsonl", bench.header(["ar", "pld"], REQUESTS, runs=2)
    first = figures.summarise(rows.read_rows(bench.write(path, head, *made)))
    assert (first.runs, first.requests) == (0, 1)
    made += [bench.row(0, "p_1", "pld", total=1), bench.row(1, "q_1", "ar", total=100)]
    then = figures.summarise(rows.read_rows(bench.write(path, head, *made)))
    assert (then.runs, then.requests) == (1, 2)
    assert then.methods["pld"].total_speedup.median == pytest.approx(5 / 3)
    with pytest.raises(OospecError, match="no request has been served by every method yet"):
        figures.summarise(rows.read_rows(bench.write(path, head, made[0])))
    failed = bench.failed(0, "q_1", "pld", "too\nlong")
    with pytest.raises(OospecError, match=r"the first error: run 0, pld: too long$"):
        figures.summarise(rows.read_rows(bench.write(path, head, failed)))


@pytest.mark.parametrize("decode", [0.0, 5e-324])
def test_a_time_of_nothing_gives_no_ratio(decode: float, tmp_path: Path) -> None:
    made = [bench.row(0, "q_1", "ar", total=2, decode=1), bench.row(0, "q_1", "pld", total=1, decode=decode)]
    path = bench.write(tmp_path / "rows.jsonl", bench.header(["ar", "pld"], {"q_1": "q"}), *made)
    pld = figures.summarise(rows.read_rows(path)).methods["pld"]
    assert (pld.decode_speedup, pld.decode_ratios) == (None, None)


@pytest.mark.parametrize("name", ["[bold]odd[/no]", "x\x1b[31m", ":bug:", "$\\frac{", "天气"])
def test_names_are_no_markup_and_steer_no_terminal(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = [bench.row(0, request, method, total=1) for method in ("ar", name) for request in (f"{name}_1", "b_1")]
    head = bench.header(["ar", name], {f"{name}_1": name, "b_1": "b"})
    path = bench.write(tmp_path / "rows.jsonl", head, *made)
    assert command.main(["report", str(path), "--picture", str(tmp_path / "a.html")]) == 0
    assert "\x1b" not in (tmp_path / "a.html").read_text()
    assert command.main(["matrix", str(path)]) == 0
    shown = capsys.readouterr()
    assert name.replace("\x1b", "\\x1b") in shown.out
    assert "\x1b" not in shown.out + shown.err


def test_what_figures_are_medians_of_is_told_alike_in_table_and_picture(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = path.read_text().replace('"runs":2', '"runs":3', 1)
    path.write_text(text)
    assert command.main(["report", str(path), "--picture", str(tmp_path / "a.html")]) == 0
    said = "2 interleaved runs (of 3 asked for)"
    assert f"median of {said}" in capsys.readouterr().out
    assert f"medians of {said}; whiskers" in (tmp_path / "a.html").read_text()


def test_the_report_needs_no_model(path: Path, tmp_path: Path) -> None:
    code = f"""
import sys
from tools import bench
code = bench.main(["report", {str(path)!r}, "--json", "--picture", {str(tmp_path / "a.html")!r}])
assert not {{"torch", "transformers"}} & set(sys.modules)
sys.exit(code)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    found = json.loads(run.stdout)
    assert found["methods"]["oospec"]["total_speedup"]["median"] == pytest.approx(3.1)
    assert found["methods"]["oospec"]["times"]["total_seconds"]["spread"] == pytest.approx(0.5 / 2.25)
    assert found["rounds_saved"] == 0.5
    assert (tmp_path / "a.html").read_text().startswith("<!DOCTYPE html>")


def test_the_report_for_people(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["report", str(path)]) == 0
    printed = capsys.readouterr().out
    assert "3.10×" in printed
    assert "Speedup of oospec over toolspec: 1.55× in total" in printed
    assert "the real hint saves 50%" in printed
    assert "A Processor, 2 cores" in printed


def test_the_picture_shows_what_the_table_says(summary: Any) -> None:
    drawn = picture.figure(summary)
    graph_objects.Figure(drawn)
    said = [text for trace in drawn["data"] for text in trace.get("text", ())]
    for method in summary.methods.values():
        assert f" {method.total_speedup.median:.2f}×" in said
        assert f" {method.times['total_seconds'].median / summary.requests:.2f} s" in said
    assert drawn["layout"]["yaxis"]["ticktext"] == list(summary.methods)
    assert picture.figure(summary) == drawn


def test_rows_of_an_earlier_version_still_say_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    """Two requests by tiny models, measured and summed up by the version that had ``--record``."""
    here = Path(__file__).parent
    assert command.main(["report", str(here / "earlier.rows.jsonl"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads((here / "earlier.summary.json").read_text())
