"""What ``tools/prepare_data.py`` refuses: one line that names the file, the line and the field."""

from __future__ import annotations

import gzip
import os
from pathlib import Path
from typing import Any

import pytest

from helpers.prepared import WATER, answer, bfcl, dialogue, lines, question, refused


@pytest.mark.parametrize(
    ("format_name", "data", "expected"),
    [
        ("bfcl", b"", ": no rows in this file"),
        ("bfcl", b"[]", ": no rows in this file"),
        (
            "bfcl",
            lines(question()) + b"{\n",
            ":2: not JSON (Expecting property name enclosed in double quotes at column",
        ),
        (
            "bfcl",
            b'[{"id": 1},\n{]',
            ": not JSON (Expecting property name enclosed in double quotes at line 2, column 2)",
        ),
        ("bfcl", lines([1]), ": row 1: a row is a JSON object, not int"),
        ("bfcl", lines("text"), ":1: a row is a JSON object, not str"),
        ("bfcl", lines({"id": "a"}), ":1: question: missing"),
        ("bfcl", lines({}), ":1: id: missing"),
        ("bfcl", lines(question(question="Hi")), ":1: question: a list is expected, not 'Hi'"),
        ("bfcl", lines(question(question=[])), ":1: question: should not be empty"),
        ("bfcl", lines(question(question=[{}])), ":1: question.0: a list is expected, not dict"),
        ("bfcl", lines(question(question=[[]])), ":1: messages: should not be empty"),
        ("bfcl", lines(question(question=[[{"role": "x"}]])), ":1: messages.0.role: Input should be"),
        ("bfcl", lines(question(), question(function={})), ":2: function: a list is expected, not dict"),
        ("bfcl", lines(question(function=["f"])), ":1: tools.0"),
        ("bfcl", lines(question(function=[{"description": "d"}])), ":1: tools.0.name: missing"),
        ("bfcl", lines(question(id=3)), ":1: id: text is expected, not 3"),
        ("bfcl", b"\xff", ": not UTF-8 at byte 0"),
        ("bfcl", gzip.compress(lines(question()), mtime=0)[:-12], ": damaged gzip; fetch or make the file again"),
        ("bfcl", b"\x1f\x8b no gzip", ": damaged gzip; fetch or make the file again"),
        ("api-bank", lines(question()), ":1: system: missing"),
        ("api-bank", lines({"system": "No tools.", "user": "Hi"}), ":1: system: no tools, as '1. Name: …'"),
        ("api-bank", lines(dialogue("")), ":1: tools.0.name: String should have at least 1 character"),
        ("api-bank", lines(dialogue("Water\nNo description.")), ":1: system: a tool is 'Name', 'Description' and"),
        ("api-bank", lines(dialogue(WATER, user=None)), ":1: user: text is expected, not None"),
        ("api-bank", lines(dialogue(WATER, answer="Water()")), ":1: answer: a call is expected, not 'Water()'"),
        (
            "api-bank",
            lines(dialogue(WATER, answer={"name": "a"})),
            ":1: answer: parameters: missing",
        ),
    ],
)
def test_bad_rows_are_refused_by_file_line_and_field(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], format_name: str, data: bytes, expected: str
) -> None:
    source, out = tmp_path / "rows.jsonl", tmp_path / "out.jsonl"
    source.write_bytes(data)
    out.write_text("as before")
    assert refused(capsys, format_name, source, "--out", out).startswith(f"{source}{expected}")
    assert out.read_text() == "as before"


@pytest.mark.parametrize(
    ("ground_truth", "expected"),
    [
        (None, "ground_truth: a list is expected, not None"),
        (["f()"], "ground_truth.0: an object is expected, not 'f()'"),
        ([{"f": ["a"]}], "ground_truth.0.f: an object is expected, not list"),
    ],
)
def test_bad_answers_are_refused_by_their_own_file_and_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], ground_truth: Any, expected: str
) -> None:
    source = bfcl(tmp_path, [question()], [{"id": "rooms_0", "ground_truth": ground_truth}])
    message = refused(capsys, "bfcl", source)
    assert message == f"{tmp_path / 'possible_answer' / source.name}:1: {expected}"


def test_bad_arguments_are_one_line_each(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing, source = tmp_path / "none.jsonl", bfcl(tmp_path, [question()])
    assert refused(capsys, "bfcl", missing) == f"{missing}: cannot read rows: No such file or directory"
    assert "'csv' is not one of 'api-bank', " in refused(capsys, "csv", source)
    assert "FORMAT" in refused(capsys)
    assert "SOURCE" in refused(capsys, "bfcl")
    assert "--limit" in refused(capsys, "bfcl", source, "--limit", 0)
    none, itself = tmp_path / "none", "is no regular file; name another"
    for out, reason in (
        (none / "out.jsonl", f"there is no folder {none}; make it first"),
        (source / "out.jsonl", f"there is no folder {source}; make it first"),
        (tmp_path, itself),
        (Path(os.devnull), itself),
    ):
        assert refused(capsys, "bfcl", source, "--out", out) == f"--out {out}: {reason}"


def test_what_is_read_is_not_written_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = bfcl(tmp_path, [question()], [answer({"width": [3], "depth": [4]})])
    for path in (source, tmp_path / "possible_answer" / source.name):
        before = path.read_bytes()
        assert refused(capsys, "bfcl", source, "--out", path).startswith(f"--out {path}: is read or written already")
        assert path.read_bytes() == before
