"""Loading: adapters are merged into their base. ``tests/faults/test_malformed_models.py`` has what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import peft
import pytest
import torch
import transformers
from huggingface_hub.utils import are_progress_bars_disabled
from safetensors.torch import load_file, save_file

from helpers import tiny
from oospec_async.errors import OospecError
from oospec_async.target.codec import TokenizerCodec
from oospec_async.weights.load import load, load_tokenizer


@pytest.fixture
def base(tmp_path: Path) -> Path:
    folder = tmp_path / "tiny-llama"
    tiny.random_model("llama").save_pretrained(folder)
    tiny.tokenizer().save_pretrained(folder)
    return folder


def adapter_for(model: torch.nn.Module, base_name: str, folder: Path) -> torch.Tensor:
    """Save a LoRA adapter of random weights; returns the adapted model's logits of one prompt."""
    config = peft.LoraConfig(r=4, target_modules="all-linear", init_lora_weights=False, task_type="CAUSAL_LM")
    with torch.random.fork_rng():
        torch.manual_seed(0)
        adapted = peft.get_peft_model(model, config)
    adapted.peft_config["default"].base_model_name_or_path = base_name
    adapted.save_pretrained(folder, save_embedding_layers=False)
    with torch.no_grad():
        logits: torch.Tensor = adapted(torch.tensor([[5, 6, 7]])).logits
    return logits


@pytest.mark.parametrize("made_for", ["someone/tiny-llama", "/mnt/train/run-7/base", "unsloth/tiny-llama-bnb-4bit"])
def test_an_adapter_whose_shapes_fit_is_merged_when_it_is_loaded(base: Path, tmp_path: Path, made_for: str) -> None:
    expected = adapter_for(tiny.random_model("llama"), made_for, tmp_path / "adapter")
    loaded = load(base, name="someone/tiny-llama", dtype="float32", device="cpu", adapter=tmp_path / "adapter")
    plain = load(base, name="someone/tiny-llama", dtype="float32", device="cpu")
    with torch.no_grad():
        merged = loaded.model(torch.tensor([[5, 6, 7]])).logits
        unadapted = plain.model(torch.tensor([[5, 6, 7]])).logits
    torch.testing.assert_close(merged, expected, rtol=1e-4, atol=1e-4)
    assert not torch.allclose(unadapted, expected, rtol=1e-2, atol=1e-2)
    assert not any("lora" in name for name, _ in loaded.model.named_parameters())


@pytest.mark.parametrize("shown", [True, False])
def test_progress_bars_of_the_application_are_as_they_were(base: Path, shown: bool) -> None:
    bars = transformers.utils.logging
    before = bars.is_progress_bar_enabled()
    (bars.enable_progress_bar if shown else bars.disable_progress_bar)()
    try:
        load(base, name="tiny-llama", dtype="float32", device="cpu")
        assert bars.is_progress_bar_enabled() == shown
        assert are_progress_bars_disabled() != shown
    finally:
        (bars.enable_progress_bar if before else bars.disable_progress_bar)()


@pytest.mark.parametrize(("deeper", "said"), [(True, r"does not fit tiny-llama: .*layers\.9"), (False, "does not fit")])
def test_an_adapter_of_another_number_of_layers_is_refused(base: Path, tmp_path: Path, deeper: bool, said: str) -> None:
    adapter_for(tiny.random_model("llama"), "", tmp_path / "adapter")
    file = tmp_path / "adapter" / "adapter_model.safetensors"
    weights = load_file(file)
    others = {key.replace("layers.1", "layers.9"): value.clone() for key, value in weights.items()}
    shallower = {key: value for key, value in weights.items() if "layers.1" not in key}
    save_file(weights | others if deeper else shallower, file)
    with pytest.raises(OospecError, match=said):
        load(base, name="tiny-llama", dtype="float32", device="cpu", adapter=tmp_path / "adapter")


@pytest.mark.parametrize("left_in", ["truncation", "padding"])
def test_what_a_training_script_left_in_the_tokenizer_cuts_and_pads_nothing(base: Path, left_in: str) -> None:
    set_up = {
        "truncation": {"direction": "Right", "max_length": 4, "strategy": "LongestFirst", "stride": 0},
        "padding": {
            "strategy": {"Fixed": 64}, "direction": "Left", "pad_to_multiple_of": None, "pad_id": 0, "pad_type_id": 0,
            "pad_token": "x",
        },
    }  # fmt: skip
    file = base / "tokenizer.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {left_in: set_up[left_in]}))
    codec = TokenizerCodec(load_tokenizer(base, "tiny"))
    text = "What is the weather in Oslo?"
    assert codec.encode(text) == tiny.codec().encode(text)
    assert codec.decode(codec.encode(text)) == text
