"""Malformed models and adapters: one line that names the folder and what is wrong with it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from faults.preloaded import Preloaded
from helpers.refusals import refused
from oospec_async.errors import OospecError
from oospec_async.weights.load import load


def changed(file: str, **changes: Any) -> Callable[[Path], object]:
    """Changes fields of a JSON file; a field that becomes None goes."""

    def change(folder: Path) -> None:
        fields = {**json.loads((folder / file).read_text()), **changes}
        (folder / file).write_text(json.dumps({key: value for key, value in fields.items() if value is not None}))

    return change


def written(file: str, content: bytes) -> Callable[[Path], object]:
    return lambda folder: (folder / file).write_bytes(content)


def cut(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-1000])


def reshaped(change: Callable[[dict[str, torch.Tensor]], object]) -> Callable[[Path], None]:
    def reshape(folder: Path) -> None:
        tensors = load_file(folder / "model.safetensors")
        change(tensors)
        save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})

    return reshape


DOWN = "model.layers.0.mlp.down_proj.weight"
MODELS: dict[str, tuple[Callable[[Path], object], str]] = {
    "no config": (lambda folder: (folder / "config.json").unlink(), "lacks config.json"),
    "a config that is not JSON": (written("config.json", b"{oops"), "config.json"),
    "a config that is a list": (written("config.json", b"[]"), "config.json"),
    "a config without a family": (changed("config.json", model_type=None, architectures=None), "config.json"),
    "a refused family": (changed("config.json", model_type="gpt2"), "refused: family 'gpt2'"),
    "an unknown family": (changed("config.json", model_type="no-such-model"), "no-such-model"),
    "a context without room": (changed("config.json", max_position_embeddings=1), "has no room for an output"),
    "no weights": (lambda folder: (folder / "model.safetensors").unlink(), "lacks"),
    "empty weights": (written("model.safetensors", b""), "cannot be loaded"),
    "weights that are noise": (written("model.safetensors", bytes(range(256)) * 40), "cannot be loaded"),
    "weights that are cut off": (cut, "cannot be loaded"),
    "a tensor that is missing": (reshaped(lambda tensors: tensors.pop(DOWN)), "down_proj"),
    "a tensor of another shape": (reshaped(lambda tensors: tensors.update({DOWN: torch.zeros(3, 3)})), "down_proj"),
    "a tensor too many": (reshaped(lambda tensors: tensors.update(extra=torch.zeros(3))), "extra"),
    "no tokenizer": (lambda folder: (folder / "tokenizer.json").unlink(), "lacks"),
    "a tokenizer that is not JSON": (written("tokenizer.json", b"{oops"), "the tokenizer in"),
    "a tokenizer of nothing": (written("tokenizer.json", b"{}"), "the tokenizer in"),
    "no chat template": (lambda folder: (folder / "chat_template.jinja").unlink(), "has no chat template"),
    "a template that is broken": (written("chat_template.jinja", b"{% if %}"), "chat template"),
    "generation settings that are not JSON": (written("generation_config.json", b"{oops"), "generation_config.json"),
}


@pytest.mark.parametrize("wrong", MODELS)
def test_a_model(wrong: str, tiny_llama: Path, good: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spoil, said = MODELS[wrong]
    folder = tmp_path / "spoilt"
    shutil.copytree(tiny_llama, folder)
    spoil(folder)
    line = refused(capsys, "--live", good, "--target", folder, "--method", "ar", "--devices", "cpu")
    assert said in line
    assert "spoilt" in line


# --- adapters: the sidecar's process loads them so, and its own line is the command's


def adapter(folder: Path, base: str = "", rank: int = 4) -> Path:
    """An adapter whose tensors are of a model of another size."""
    folder.mkdir()
    config = {
        "peft_type": "LORA", "task_type": "CAUSAL_LM", "r": rank, "lora_alpha": 8, "target_modules": ["q_proj"],
        "base_model_name_or_path": base,
    }  # fmt: skip
    (folder / "adapter_config.json").write_text(json.dumps(config))
    name = "base_model.model.model.layers.0.self_attn.q_proj.lora_{}.weight"
    tensors = {name.format("A"): torch.zeros(rank, 999), name.format("B"): torch.zeros(999, rank)}
    save_file(tensors, folder / "adapter_model.safetensors")
    return folder


ADAPTERS: dict[str, tuple[Callable[[Path], object], str]] = {
    "tensors that do not fit": (lambda folder: None, "does not fit"),
    "a config that is not JSON": (written("adapter_config.json", b"{oops"), "not a peft adapter"),
    "another kind": (changed("adapter_config.json", peft_type="NO_SUCH"), "not a peft adapter"),
    "weights that are noise": (written("adapter_model.safetensors", b"noise"), "does not fit"),
    "no weights": (lambda folder: (folder / "adapter_model.safetensors").unlink(), "lacks adapter_config.json or"),
    "modules of another model": (changed("adapter_config.json", target_modules=["c_attn"]), "does not fit"),
}


@pytest.mark.parametrize("wrong", ADAPTERS)
def test_an_adapter(wrong: str, tiny_llama: Path, tmp_path: Path) -> None:
    spoil, said = ADAPTERS[wrong]
    folder = adapter(tmp_path / "spoilt")
    spoil(folder)
    with pytest.raises(OospecError) as error:
        load(tiny_llama, name="tiny", dtype="float32", device="cpu", adapter=folder)
    assert said in str(error.value)
    assert f"adapter {folder}" in str(error.value)
    assert len(str(error.value).splitlines()) == 1


def test_what_the_sidecars_process_says_is_the_commands_line(
    command: Preloaded, live: list[object], tmp_path: Path
) -> None:
    folder = adapter(tmp_path / "other", base="Org/Other")
    done = command.run(*live, "--adapter", folder, stub="")
    assert (done.code, done.out, done.left) == (2, "", [])
    assert done.err.splitlines()[-1].startswith(f"oospec-run: adapter {folder}: does not fit")
    assert f"adapter {folder}: made for Org/Other" in done.err
    assert "Traceback" not in done.err
