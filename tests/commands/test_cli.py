"""``oospec-run`` in short: what it says of a run. What it refuses is in ``tests/faults``."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from helpers.refusals import refused, row, run


@pytest.fixture
def live(tiny_llama: Path, tmp_path: Path) -> tuple[object, ...]:
    path = tmp_path / "good.jsonl"
    path.write_bytes(row())
    return ("--live", path, "--target", tiny_llama, "--devices", "cpu", "--dtype", "float32", "--max-new-tokens", 12)


def test_a_draft_model_drafts_and_is_named_beside_the_figures(
    live: tuple[object, ...], tiny_llama: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capsys, *live, "--compare", "ar,draft", "--draft-model", tiny_llama, "--json")
    assert code == 0, err
    assert "ms a token, where the target takes" in err
    result = json.loads(out)
    assert result["measured_on"]["draft_model"]["name"] == str(tiny_llama)
    assert result["measured_on"]["target"]["weights_sha256"]
    plain, drafted = result["completions"]
    assert plain["tokens"] == drafted["tokens"]


def test_a_draft_model_with_another_tokenizer_is_refused(
    live: tuple[object, ...], tiny_llama: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other"
    shutil.copytree(tiny_llama, other)
    spec = json.loads((other / "tokenizer.json").read_text())
    words = spec["model"]["vocab"]
    words["a"], words["b"] = words["b"], words["a"]
    (other / "tokenizer.json").write_text(json.dumps(spec))
    line = refused(capsys, *live, "--method", "draft", "--draft-model", other)
    assert "its tokenizer is not that of" in line
    assert str(other) in line
