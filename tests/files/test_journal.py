"""Files that grow by a line: what is in them after a failure, and who may write them."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.disk import full_after
from oospec_async.errors import OospecError
from oospec_async.files.journal import LineFile


def test_a_line_that_does_not_fit_is_not_there_and_fails_once(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    file = LineFile(path, "--rows")
    file.append("é\ud800")  # half a character of somebody's text must not cost the line
    with full_after(20), pytest.raises(OospecError, match=rf"^--rows {path}: cannot be written: File too large; name"):
        file.append("longer than what is left")
    assert path.read_bytes() == "é\\ud800\n".encode()
    file.append("more")
    file.close()
    assert path.read_bytes() == "é\\ud800\nmore\n".encode()


def test_one_at_a_time_has_a_file(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    held = LineFile(path, "output")
    with pytest.raises(OospecError, match=rf"^output {path}: another process is writing it; wait for it, or name"):
        LineFile(path, "output")
    held.close()
    LineFile(path, "output").close()


def test_a_file_that_cannot_be_opened_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(OospecError, match="nowhere/x: cannot be written: No such file"):
        LineFile(tmp_path / "nowhere" / "x", "--rows")
