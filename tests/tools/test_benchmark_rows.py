"""The rows file: broken lines, other benchmarks, a cut-off end, two writers."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from helpers import bench
from oospec_async.errors import OospecError
from tools.benchmark import rows

HEAD = bench.header(["ar", "pld"], {"a_1": "a", "a_2": "a"})
ROW = bench.row(0, "a_1", "ar", total=2.0)


def refusal(path: Path) -> str:
    with pytest.raises(OospecError) as refused:
        rows.read_rows(path)
    (line,) = str(refused.value).splitlines()
    return line


def test_what_is_added_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    added = [
        ROW,
        bench.row(0, "a_1", "pld", total=1.0, margins=[0.5], hint={"versions": 1}),
        bench.failed(0, "a_2", "ar"),
    ]
    with rows.RowsFile(path, HEAD) as file:
        for row in added:
            file.add(row)
    contents = rows.read_rows(path)
    assert contents.header == HEAD
    assert list(contents.rows.values()) == added


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("no json", ":3: not JSON (expected ident at line 1 column 2); a row is expected"),
        ("{}", ":3: run: missing"),
        ('{"run":0,"request":"a_1","method":"pld"}', ":3: either 'measured' or 'error' is expected"),
        ('{"run":0,"request":"a_1","method":"pld","error":"x","more":1}', ":3: more: unknown; remove it"),
        ('{"run":1,"request":"a_1","method":"pld","error":"x"}', ":3: run 1, 'a_1' by 'pld' is not of this benchmark"),
        ('{"run":0,"request":"a_1","method":"ar","error":"x"}', ":3: run 0, 'a_1' by 'ar' is there twice"),
        (ROW.model_dump_json().replace("2.0", "0.0", 1), ":3: measured.total_seconds: Input should be greater than"),
        (ROW.model_dump_json().replace("2.0", "1e308", 1), ":3: measured.total_seconds: Input should be less than"),
        (ROW.model_dump_json().replace('"rounds":2', f'"rounds":1{"0" * 400}'), ":3: measured.rounds: "),
    ],
)
def test_a_broken_line_is_named_with_its_field(line: str, reason: str, tmp_path: Path) -> None:
    path = bench.write(tmp_path / "rows.jsonl", HEAD, ROW)
    path.write_text(path.read_text() + line + "\n")
    assert f"{path}{reason}" in refusal(path)


def test_a_file_without_a_header_is_none(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    assert "cannot read the rows" in refusal(path)
    path.write_text("")
    assert "no header" in refusal(path)
    path.write_text('{"format":"oospec-bench/9"}\n')
    assert f"{path}:1: format: Input should be 'oospec-bench/1'" in refusal(path)


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        ('"target":{"name":"tiny",', '"target":{"name":5,', "fingerprint.target.name: text is expected, not 5"),
        ('"assistants":[]', '"assistants":null', "fingerprint.assistants: a list is expected, not None"),
        ('"sidecar":null,', "", "fingerprint.sidecar: missing"),
        ('"methods":["ar","pld"]', '"methods":[]', "methods: should not be empty"),
        ('"curves":{}', '"curves":{"main":[]}', "curves.main: should not be empty"),
        ('"curves":{}', '"curves":{"main":[[1,-1.0]]}', "curves.main.0.1: Input should be greater than or equal to 0"),
        ('"runs":1', '"runs":1000000000', "runs: Input should be less than or equal to"),
    ],
)
def test_a_header_that_no_benchmark_writes_is_named_with_its_field(
    before: str, after: str, reason: str, tmp_path: Path
) -> None:
    path = bench.write(tmp_path / "rows.jsonl", HEAD, ROW)
    assert before in path.read_text()
    path.write_text(path.read_text().replace(before, after, 1))
    assert f"{path}:1: {reason}" in refusal(path)


def test_margins_that_are_infinite_or_no_number_can_be_read_again(tmp_path: Path) -> None:
    """As where a checkpoint rules all tokens out but one, or its weights are damaged."""
    row = bench.row(0, "a_1", "ar", total=2.0, margins=[math.inf, math.nan, 0.5])
    with rows.RowsFile(tmp_path / "rows.jsonl", HEAD) as file:
        file.add(row)
    (found,) = rows.read_rows(tmp_path / "rows.jsonl").rows.values()
    first, second, third = found.measured.margins
    assert (first, third) == (math.inf, 0.5)
    assert math.isnan(second)


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"dtype": "float32"}, "dtype was bfloat16 and is float32"),
        ({"requests": "11"}, "requests was 00 and is 11"),
        ({"machine": "Another, 2 cores"}, "machine was A Processor, 2 cores and is Another, 2 cores"),
    ],
)
def test_rows_of_another_benchmark_are_not_gone_on_with(changed: dict[str, Any], named: str, tmp_path: Path) -> None:
    path = bench.write(tmp_path / "rows.jsonl", HEAD, ROW)
    before = path.read_bytes()
    other = bench.header(["ar", "pld"], {"a_1": "a", "a_2": "a"}, **changed)
    with pytest.raises(OospecError, match=named):
        rows.RowsFile(path, other)
    with pytest.raises(OospecError, match=r'methods was \["ar", "pld"\] and is \["ar"\]'):
        rows.RowsFile(path, bench.header(["ar"], {"a_1": "a", "a_2": "a"}))
    assert path.read_bytes() == before


def test_more_runs_can_be_asked_for_later_and_fewer_only_down_to_those_begun(tmp_path: Path) -> None:
    path = bench.write(tmp_path / "rows.jsonl", HEAD, ROW)

    def header(runs: int) -> Any:
        return bench.header(["ar", "pld"], {"a_1": "a", "a_2": "a"}, runs=runs)

    with rows.RowsFile(path, header(3)) as file:
        assert (file.header, list(file.rows)) == (header(3), [ROW.key])
        file.add(bench.row(1, "a_1", "ar", total=1.0))
    assert rows.read_rows(path).header == header(3)
    with rows.RowsFile(path, header(2)):
        pass
    before = path.read_bytes()
    with pytest.raises(OospecError, match=r"^--runs 1: .* holds rows of 2 runs; ask for as many or more"):
        rows.RowsFile(path, header(1))
    assert path.read_bytes() == before
    assert list(rows.read_rows(path).rows) == [ROW.key, (1, "a_1", "ar")]
