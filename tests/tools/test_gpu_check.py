"""The whole script on the CPU with tiny shapes, and how it ends where something is wrong."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import pytest

gpu_check: Any = importlib.import_module("tools.gpu_check")
base: Any = importlib.import_module("tools.gpu_checks.base")
ids: Any = importlib.import_module("tools.gpu_checks.ids")
verify_time: Any = importlib.import_module("tools.gpu_checks.verify_time")
randoms: Any = importlib.import_module("tools.gpu_checks.randoms")


def run(out: Path, *more: str) -> int:
    code: int = gpu_check.main(["--devices", "cpu", "--shapes", "tiny", "--out", str(out), *more])
    return code


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Any:
    out = tmp_path_factory.mktemp("gpu") / "report.json"
    assert run(out) == 0
    return json.loads(out.read_text())


def test_says_what_it_was_measured_on(report: Any) -> None:
    assert report["complete"]
    assert report["shapes"] == "tiny"
    assert [device["name"] for device in report["devices"]] == ["cpu", "cpu"]
    assert report["software"]["torch"]
    assert report["date"].endswith("+00:00")
    assert {name: part["result"] for name, part in report["checks"].items()} == {
        "ids": "holds",
        "workers": "holds",
        "verify time": "measured",
        "host time": "measured",
    }


def test_ids_of_every_family_are_compared_while_drafts_are_both_accepted_and_rejected(report: Any) -> None:
    groups = report["checks"]["ids"]["groups"]
    exact = [group for group in groups if group["dtype"] == "float32"]
    assert {group["family"] for group in exact} == {"llama", "qwen2", "qwen3"}
    assert {group["repetition_penalty"] for group in exact} == {1.0, 1.1}
    for group in exact:
        assert group["equal"] == group["rows"] == 4
        assert 0.2 < group["accepted"] / group["drafted"] < 0.8
    for group in groups:
        assert len(group["differences"]) == group["rows"] - group["equal"]
        assert all(difference["gap"] <= group["gap_median"] for difference in group["differences"])


def test_a_sidecar_that_is_killed_in_mid_wave_changes_no_output(report: Any) -> None:
    runs = report["checks"]["workers"]["runs"]
    assert all(row["equal"] and row["tokens"] == runs["ar"]["tokens"] for row in runs.values())
    for name in ("first wave", "second wave"):
        assert runs[name]["wave_ms"] > 0
        assert runs[name]["hint_arrival_ms"] > 0
    assert runs["killed in mid-wave"]["wave_ms"] is None
    assert runs["without a worker"]["hints"] == 0


def test_times_are_given_by_tree_size_and_between_rounds(report: Any) -> None:
    shape = report["checks"]["verify time"]["shapes"]["tiny"]
    (verify,) = shape["verify"]
    assert verify["context"] == 512
    assert [entry["tokens"] for entry in verify["sizes"]] == [1, 2, 4, 8, 16, 32, 64]
    assert verify["sizes"][0]["ratio"] == 1.0
    assert all(entry["forward_ms"] > 0 for entry in verify["sizes"])
    assert shape["prefill_ms"] > 0
    host = report["checks"]["host time"]
    assert host["rounds"] == 150
    assert 0 < host["times"]["between verifies"]["median_ms"] <= host["times"]["between verifies"]["p99_ms"]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--devices", "gpu:0"], "device 'gpu:0': unknown"),
        (["--devices", "cuda:99"], "device 'cuda:99': torch sees"),
        (["--devices", "cpu,cpu,cpu"], "name one or two devices"),
        (["--shapes", "full"], "--shapes full: takes a CUDA device, and the target's is cpu"),
        (["--shapes", "huge"], "'huge'"),
        (["--out", "/nowhere/report.json"], "there is no folder /nowhere"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    arguments: list[str], reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path / "report.json", *arguments) == 2
    captured = capsys.readouterr()
    (line,) = captured.err.splitlines()
    assert reason in line
    assert captured.out == ""
    assert not list(tmp_path.iterdir())


def test_a_check_that_raises_has_failed_and_the_others_are_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def broken(bench: Any) -> Any:
        raise RuntimeError("no kernel image\nand a long story")

    async def fine(bench: Any) -> Any:
        return base.Outcome(True, {"answer": 42})

    monkeypatch.setattr(gpu_check, "CHECKS", {"broken": broken, "fine": fine})
    assert run(tmp_path / "report.json") == 1
    checks = json.loads((tmp_path / "report.json").read_text())["checks"]
    assert checks["broken"]["result"] == "fails"
    assert checks["broken"]["reason"] == "RuntimeError: no kernel image"
    assert checks["fine"] == {"result": "holds", "reason": "", "seconds": checks["fine"]["seconds"], "answer": 42}
    assert "broken: fails: RuntimeError: no kernel image" in capsys.readouterr().out


def test_one_wrong_token_fails_the_ids_and_is_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    generate = ids._generate

    def wrong(model: Any, prompt: list[int], tokens: int) -> list[int]:
        output: list[int] = generate(model, prompt, tokens)
        output[5] = (output[5] + 1) % 512
        return output

    small = base.Preset(**{**base.TINY.__dict__, "prompts": (9,), "tokens": 16})
    monkeypatch.setattr(ids, "_generate", wrong)
    monkeypatch.setattr(ids, "FAMILIES", ("llama",))
    monkeypatch.setattr(gpu_check, "CHECKS", {"ids": ids.check})
    monkeypatch.setitem(base.PRESETS, "tiny", small)
    assert run(tmp_path / "report.json") == 1
    check = json.loads((tmp_path / "report.json").read_text())["checks"]["ids"]
    assert check["reason"] == "4 of 4 float32 outputs differ from generate's"
    first = check["groups"][0]
    assert (first["equal"], first["rows"]) == (0, 2)
    assert all(difference["position"] == 5 and difference["gap"] > 0 for difference in first["differences"])
    assert "Rows that differ" in capsys.readouterr().out


def test_a_shape_that_does_not_fit_is_skipped_and_the_others_are_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shaped = randoms.shaped_model

    def limited(shape: Any, device: str, context: int) -> Any:
        if shape.name == "huge":
            raise verify_time.torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 1.45 GiB.")
        return shaped(shape, device, context)

    (tiny,) = base.TINY.shapes
    huge = base.Shape(**{**tiny.__dict__, "name": "huge"})
    monkeypatch.setattr(verify_time, "shaped_model", limited)
    monkeypatch.setattr(gpu_check, "CHECKS", {"verify time": verify_time.check})
    monkeypatch.setitem(
        base.PRESETS, "tiny", base.Preset(**{**base.TINY.__dict__, "shapes": (huge, tiny), "repeats": 1})
    )
    assert run(tmp_path / "report.json") == 0
    shapes = json.loads((tmp_path / "report.json").read_text())["checks"]["verify time"]["shapes"]
    assert shapes["huge"] == {"skipped": "OutOfMemoryError: CUDA out of memory. Tried to allocate 1.45 GiB."}
    assert shapes["tiny"]["prefill_ms"] > 0


def test_the_large_shapes_have_the_sizes_of_the_models_that_they_are_named_after() -> None:
    billions = {}
    for shape in base.FULL.shapes:
        model = randoms.shaped_model(shape, "meta", 4096)
        billions[shape.name] = round(sum(parameter.numel() for parameter in model.parameters()) / 1e9, 1)
    assert billions == {"Qwen3-0.6B": 0.6, "Qwen3-4B": 4.0, "Qwen3-14B": 14.8}
