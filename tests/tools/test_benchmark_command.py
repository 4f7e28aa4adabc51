"""What the command refuses, before anything is measured or written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from helpers import bench
from tools import bench as command


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["report", "nowhere.jsonl"], "nowhere.jsonl: cannot read the rows"),
        (["report", "{rows}", "--picture", "x.jpg"], "--picture x.jpg: ends in none of .html, .svg, .png"),
        (["run"], "Missing argument"),
        (["run", "{rows}", "--rows", "{rows}"], "is read or written already; name another file"),
        (["run", "{requests}", "--picture", "{requests}"], "--picture {requests}: is read or written already"),
        (["run", "{requests}", "--runs", "1000000000"], "--runs"),
        (["run", "{requests}", "--devices", ""], "device '': unknown"),
        (["run", "{requests}", "--methods", "ar, ", "--devices", "cpu"], "method '': '' is neither"),
        (
            ["run", "{requests}", "--methods", "ar", "--devices", "cpu", "--draft-model", "x"],
            "--draft-model belongs to",
        ),
        (["report", "{rows}"], "{rows}: no request has been served by every method yet"),
        (["matrix", "{rows}", "{tmp}/../{tmp_name}/rows.jsonl"], "is named twice; a mean counts a file once"),
        (["run", "{requests}", "--rows", "/nowhere/x"], "--rows /nowhere/x: there is no folder"),
        (["run", "{requests}", "--methods", "fast", "--devices", "cpu"], "method 'fast': 'fast' is neither"),
        (["run", "{requests}", "{again}"], "id 'a' is in another of these files too"),
        (
            ["run", "{requests}", "--methods", "ar", "--devices", "cpu", "--target", "/nowhere"],
            "'/nowhere': no such dir",
        ),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    arguments: list[str], reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    request = json.dumps({"id": "a", "messages": [{"role": "user", "content": "x"}]})
    path = bench.write(tmp_path / "rows.jsonl", bench.header(["ar"], {"a": "r"}))
    names = {"rows": path, "requests": tmp_path / "r.jsonl", "again": tmp_path / "s.jsonl", "tmp": tmp_path}
    for name in ("requests", "again"):
        names[name].write_text(request + "\n")
    names["tmp_name"] = Path(tmp_path.name)
    before = sorted(tmp_path.iterdir())
    if arguments[0] == "run" and "--rows" not in arguments:
        arguments = [*arguments, "--rows", str(tmp_path / "new.jsonl")]
    assert command.main([argument.format(**names) for argument in arguments]) == 2
    captured = capsys.readouterr()
    (line,) = captured.err.splitlines()
    assert reason.format(**names) in line
    assert captured.out == ""
    assert sorted(tmp_path.iterdir()) == before
