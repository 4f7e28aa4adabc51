"""The command: stages by name, errors in one line, torch only where it is needed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.command import train_command
from helpers.training import asking, call, function, seal_tools, write_rows


def test_what_a_stage_did_is_said_on_stderr(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    requests, out = write_rows(tmp_path / "requests.jsonl", asking("a", function("f", "x"))), tmp_path / "out.jsonl"
    assert train_command("vary", "--requests", requests, "--out", out) == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    assert f"{out}: written" in captured.err


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["sources", "--out", "x"], "name at least one set with --train or --eval"),
        (["vary", "--requests", "none", "--out", "x"], "none: cannot read rows: No such file"),
        (["rows", "--out", "x"], "Missing option '--requests'"),
        (["offer", "--messages", "m", "--seal-tools", "none", "--out", "x"], "none: there is no tool.jsonl"),
        (["teach", "--teacher", "http://x", "--requests", "none", "--out", "x"], "none: cannot read rows"),
        (
            ["synthesise", "--writer", "w", "--seal-tools", "none", "--count", "1", "--out", "x"],
            "there is no tool.jsonl",
        ),
        (["nothing"], "No such command 'nothing'"),
    ],
)
def test_what_a_user_can_mend_is_one_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    reason: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert train_command(*arguments) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("oospec-train: ")
    assert reason in captured.err
    assert captured.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_stages_that_need_no_model_import_no_torch(tmp_path: Path) -> None:
    seal_tools(tmp_path)
    requests = write_rows(tmp_path / "in.jsonl", asking("a", function("f", "x"), gold=[call("f", x="1")]))
    script = (
        "import sys\n"
        "from pathlib import Path\n"
        "from oospec_async.training import cli\n"
        "from oospec_async.training.data import rows, sources, vary\n"
        "from oospec_async.training.data.writing import offer, synthesise\n"
        "from oospec_async.training.teach import endpoint, teach\n"
        "folder = Path(sys.argv[1])\n"
        "sources.sources_file([f'openai:{folder}/in.jsonl', f'seal-tools:{folder}/dev.jsonl'], [], folder / 'a')\n"
        "synthesise.synthesise(synthesise.SynthesiseOptions('phrases', folder, folder / 'm', 3))\n"
        "vary.vary_file(folder / 'a', 0, folder / 'b')\n"
        "rows.rows_file([folder / 'b'], [], [], folder / 'c')\n"
        "print(sorted(name for name in ('torch', 'transformers') if name in sys.modules))\n"
    )
    command = [sys.executable, "-c", script, str(requests.parent)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=dict(os.environ))
    assert done.stdout == "[]\n", done.stderr
