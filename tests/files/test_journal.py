"""Files that grow by a row: what is in them after a failure, what they go on from, and who may write them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.disk import full_after
from oospec_async.errors import OospecError
from oospec_async.files.journal import Header, Journal, check_same
from oospec_async.files.json_text import load_json

HEAD = Header(json.dumps({"format": 1, "made": {"by": "a", "on": "x"}, "date": 3}), "rows of this test", ("date",))
TEXT = st.text(max_size=5)


def parse(line: bytes, where: str) -> Any:
    return load_json(line.decode("utf-8", "replace"), where, "a row")


def journal(path: Path, header: Header | None = None) -> Journal[Any]:
    return Journal(path, "--rows", parse, json.dumps, header)


@settings(max_examples=50)
@given(st.lists(st.dictionaries(TEXT, TEXT, max_size=2), max_size=4), st.sampled_from([None, HEAD]), st.data())
def test_a_file_cut_anywhere_is_continued_after_its_last_whole_line(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, str]], header: Header | None, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("journal") / "out.jsonl"
    with journal(path, header) as file:
        for row in rows:
            file.add(row)
        assert file.written() == len(rows)
    whole = path.read_bytes()
    cut = data.draw(st.integers(0, len(whole)))
    os.truncate(path, cut)
    with journal(path, header) as file:
        kept = len(file.rows)
        assert file.rows == rows[:kept]
        assert kept == max(whole[:cut].count(b"\n") - (header is not None), 0)
        for row in rows[kept:]:
            file.add(row)
    assert path.read_bytes() == whole


def test_a_row_that_does_not_fit_is_not_there_and_fails_once(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    with Journal(path, "--rows", parse, str) as file:
        file.add("é\ud800")  # half a character of somebody's text must not cost the line
        expected = rf"^--rows {path}: cannot be written: File too large; name"
        with full_after(20), pytest.raises(OospecError, match=expected):
            file.add("longer than what is left")
        assert path.read_bytes() == "é\\ud800\n".encode()
        file.add("more")
        assert file.rows == ["é\ud800", "more"]
    assert path.read_bytes() == "é\\ud800\nmore\n".encode()


def test_one_at_a_time_has_a_file_also_after_its_header_was_changed(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    refused = rf"^--rows {path}: another process is writing it; wait for it, or name"
    with journal(path, HEAD) as held:
        held.add(1)
        with pytest.raises(OospecError, match=refused):
            journal(path, HEAD)
        held.change_header('{"new": 1}')
        with pytest.raises(OospecError, match=refused):
            journal(path, HEAD)
        held.add(2)
    assert path.read_text() == '{"new": 1}\n1\n2\n'
    journal(path, Header('{"new": 1}', "rows")).close()


def test_a_file_that_cannot_be_opened_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(OospecError, match="nowhere/x: cannot be written: No such file"):
        journal(tmp_path / "nowhere" / "x")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("mine", "^--rows .*: holds something else than rows of this test: format was null and is 1; name another"),
        ("[1]\n1\n", "than rows of this test: format was null"),
        ('{"format": 1}\n', "than rows of this test: made.by was null and is a; name another file, or remove it"),
        ('{"format": 2}\n', "format was 2 and is 1"),
        ('{"format": 1, "made": {"by": "a", "on": "y"}}\n', "made.on was y and is x"),
        ('{"format": 1, "made": {"by": "a", "on": "x", "at": [7]}}\n', r"made.at was \[7\] and is null"),
        (f"{HEAD.line}\n1\nno\n", r"rows.jsonl:3: not JSON .*; a row is expected"),
    ],
)
def test_a_file_of_something_else_is_refused_and_stays(content: str, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(content + "{torn" * (content != "mine"))
    before = path.read_bytes()
    for _ in range(2):  # and it is not held
        with pytest.raises(OospecError, match=reason):
            journal(path, HEAD)
    assert path.read_bytes() == before


def test_what_may_differ_in_a_header_is_as_it_was_when_the_file_was_begun(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(f"{HEAD.line.replace('3', '4')}\n1\n")
    with journal(path, HEAD) as file:
        assert (json.loads(file.header)["date"], file.rows) == (4, [1])


def test_a_long_value_is_cut_in_a_refusal() -> None:
    with pytest.raises(OospecError) as refused:
        check_same({"a": "x" * 10**6}, {"a": None}, "here", "rows")
    assert len(str(refused.value)) < 300
