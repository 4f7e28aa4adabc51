"""Files that grow by a line, and manifests that can be compared."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from helpers.training import asking, call, function, read_back, write_rows
from oospec_async.errors import OospecError
from oospec_async.training.data.rows import rows_file
from oospec_async.training.manifest import manifest_path, write_manifest
from oospec_async.training.notes import Notes
from oospec_async.training.stage import Growing, read_lines


def growing(out: Path, *needed: str) -> AbstractContextManager[object]:
    return Growing(out, "stage", {}, [], needed, lambda rows: {}).opened()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("x\n{}\n", ":1: not JSON"),
        ("{}\n[]\n", ":2: a result is a JSON object"),
        ('{"id": 1, "ok": true}\n{"id": 2}\n{torn', ":2: ok: missing; this file is not of this stage; name another"),
    ],
)
def test_a_file_of_another_kind_or_stage_is_refused_and_stays(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "out.jsonl"
    path.write_text(text)
    with pytest.raises(OospecError, match=f"out.jsonl{reason}"), growing(path, *(["ok"] if "ok" in text else [])):
        pass
    assert path.read_text() == text


def test_a_file_that_was_begun_and_failed_before_its_first_line_is_removed(tmp_path: Path) -> None:
    old, new = tmp_path / "old.jsonl", tmp_path / "new.jsonl"
    old.write_text("")
    for path in (old, new):
        with pytest.raises(KeyboardInterrupt), growing(path):
            raise KeyboardInterrupt
    assert old.exists()
    assert not new.exists()


def test_lines_are_read_while_they_are_written(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "in.jsonl", {"id": 1}, {"id": 2})
    path.write_text(path.read_text() + '{"id": 3')
    assert [row.data["id"] for row in read_lines(path, "id")] == [1, 2]
    with pytest.raises(OospecError, match=r"in.jsonl:1: calls: missing"):
        read_lines(path, "calls")


def test_a_manifest_says_what_it_was_made_of(tmp_path: Path) -> None:
    source, out = write_rows(tmp_path / "in.jsonl", {}), write_rows(tmp_path / "out.jsonl", {})
    notes = Notes()
    notes.add("odd row; removed", "in.jsonl:1")
    write_manifest(out, "stage", {"seed": 1}, [source], {"rows": 1}, notes)
    found = json.loads(manifest_path(out).read_text())
    digest = "ca3d163bab055381827226140568f3bef7eaac187cebd76878e0b63e9e442356"  # of "{}" and a line's end
    assert found["sources"] == [{"path": str(source), "sha256": digest}]
    assert found["output"] == {"path": "out.jsonl", "sha256": digest}
    assert found["rules"] == [{"rule": "odd row; removed", "count": 1, "first": "in.jsonl:1"}]
    assert found["software"]["python"]
    with pytest.raises(OospecError, match="cannot be read"):
        write_manifest(out, "stage", {}, [tmp_path / "gone"], {})


def test_the_same_inputs_give_the_same_bytes(tmp_path: Path) -> None:
    source = write_rows(tmp_path / "in.jsonl", asking("a", function("f", "x"), gold=[call("f", x="1")]))
    out = tmp_path / "rows.jsonl"
    made = []
    for _ in range(2):
        rows_file([source], [], [], out)
        made.append((out.read_bytes(), manifest_path(out).read_bytes()))
    assert made[0] == made[1]
    assert len(read_back(out)) == 1
