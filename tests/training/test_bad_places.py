"""Adapters that do not fit, files of other runs, and disks that are full: one line, and nothing half-made."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import peft
import pytest
from safetensors.torch import load_file, save_file

from helpers import tiny
from helpers.command import model_folder, train_command
from helpers.disk import full_after
from helpers.good import GUESSING, TRAIN, refusal, save
from helpers.training import read_back, write_rows
from oospec_async.training.fit.checkpoint import alone
from oospec_async.training.fit.recipe import Recipe

PEFT = ("adapter_model.safetensors", "adapter_config.json")


@pytest.mark.parametrize(
    ("recipe", "family", "reason"),
    [
        (Recipe(rank=8), "llama", "--begin odd: adapter_config.json: r is 8, and the recipe has 32"),
        (Recipe(alpha=8), "llama", "lora_alpha is 8, and the recipe has 64"),
        (Recipe(), "fewer modules", "on all linear layers of the base and on them alone"),
        (Recipe(), "fewer layers", "see base_model.model.model.layers.1."),
        (Recipe(), "damaged", "--begin odd: its weights cannot be used"),
        (Recipe(), "no JSON", "adapter odd: not a peft adapter"),
    ],
)
def test_adapters_to_begin_with_that_do_not_fit(
    recipe: Recipe, family: str, reason: str, at: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save(at / "odd", "tiny-llama", recipe)
    weights, config = at / "odd" / PEFT[0], at / "odd" / PEFT[1]
    if family == "fewer modules":
        model = tiny.random_model("llama")
        made = peft.get_peft_model(model, peft.LoraConfig(r=32, lora_alpha=64, target_modules=["q_proj"]))
        made.save_pretrained(at / "odd", save_embedding_layers=False)
    elif family == "fewer layers":
        save_file({key: value for key, value in load_file(weights).items() if "layers.1" not in key}, weights)
    elif family == "damaged":
        weights.write_bytes(weights.read_bytes()[:100])
    elif family == "no JSON":
        config.write_text("{")
    assert reason in refusal(capsys, TRAIN, "--begin", "odd")


def test_an_adapter_for_a_base_of_another_name_is_begun_with(at: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save(at / "odd", "someone/Other-7B", Recipe())
    assert train_command(*TRAIN.split(), "--begin", "odd") == 0
    assert "adapter odd: made for someone/Other-7B, and the model is named tiny-llama" in capsys.readouterr().err


def test_a_file_is_of_one_sidecar(at: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert train_command(*GUESSING.split()) == 0
    found = (at / "out.jsonl").read_bytes()
    said = refusal(capsys, GUESSING.replace("--adapter none", "--adapter adapter"))
    assert (
        "out.jsonl: holds something else than lines made with these options: adapter was null and is adapter (SHA-256 "
        in said
    )
    assert (at / "out.jsonl").read_bytes() == found
    (at / "out.jsonl.manifest.json").write_text("{}")
    assert "out.jsonl.manifest.json: is no manifest of this program" in refusal(capsys, GUESSING)


def test_a_run_is_gone_on_with_by_the_same_base_and_rows(at: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert train_command(*TRAIN.split()) == 0
    assert "of a run with other rows, seed or recipe" in refusal(capsys, TRAIN, "--seed", "3")
    assert "of a run with another --begin (none)" in refusal(capsys, TRAIN, "--begin", "adapter")
    model_folder(at / "other-llama", seed=5)
    assert "of a run with another base (" in refusal(capsys, TRAIN.replace("tiny-llama", "other-llama"))
    rows = read_back(at / "rows.jsonl")
    write_rows(at / "rows.jsonl", *({**row, "teacher": True} for row in rows))
    assert "of a run with another content of --rows (" in refusal(capsys, TRAIN)


def test_a_folder_in_which_another_process_trains(at: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (at / "out").mkdir()
    with alone(at / "out"):
        assert "--out out: another process trains there" in refusal(capsys, TRAIN)


def test_a_folder_that_cannot_be_written_to(
    at: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.access", lambda path, mode: not mode & os.W_OK)
    assert "--out out/manifest.json: the folder" in refusal(capsys, TRAIN)
    assert "output out.jsonl: the folder" in refusal(capsys, GUESSING)


@pytest.mark.parametrize(
    ("size", "reason", "left"),
    [
        (1000, "adapter out/adapter_model.safetensors: cannot be written: File too large", set()),
        (250_000, "out/checkpoint.pt: cannot be written (", set(PEFT)),  # the adapter has 200 kB, the state 600 kB
    ],
)
def test_a_full_disk_while_training(
    size: int, reason: str, left: set[str], at: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with full_after(size):
        assert reason in refusal(capsys, TRAIN)
    assert {path.name for path in (at / "out").iterdir()} == left
    assert train_command(*TRAIN.split()) == 0


def test_a_full_disk_while_guessing(at: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with full_after(30):
        assert "output out.jsonl: cannot be written: File too large" in refusal(capsys, GUESSING)
    assert train_command(*GUESSING.split()) == 0
    assert [row["id"] for row in read_back(at / "out.jsonl")] == ["id-Paris"]


def test_losses_that_are_no_numbers_end_a_training(at: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(at / "tiny-llama", at / "broken-llama")
    weights = load_file(at / "broken-llama" / "model.safetensors")
    weights["model.norm.weight"] = weights["model.norm.weight"] * float("nan")
    save_file(weights, at / "broken-llama" / "model.safetensors", {"format": "pt"})
    said = refusal(capsys, TRAIN.replace("tiny-llama", "broken-llama"))
    assert "step 1: the loss is nan" in said
    assert list((at / "out").iterdir()) == []
