"""A tiny GGUF of each family through the real conversion: weights, tokenizer, template, generation config."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path
from typing import Any

import gguf
import pytest
import torch
import transformers
from safetensors import safe_open

from oospec_async.errors import OospecError
from oospec_async.weights.convert import convert

NORMAL, CONTROL, USER_DEFINED, UNUSED = 1, 3, 4, 5
TEMPLATE = "{% for m in messages %}<|im_start|>{{ m.content }}<|im_end|>{% endfor %}"
TEXTS = ["a 1", "a  1", "\n\n12", "x\n 1", '{"a": 1.5}', "你好 🙂", "e\u0301", "<|im_start|>a<|im_end|>", "½ ²"]


def alphabet() -> list[str]:
    """GPT-2's spelling of the 256 bytes, in the order of the bytes."""
    shown = {*range(33, 127), *range(161, 173), *range(174, 256)}
    spare = iter(range(256, 512))
    return [chr(byte) if byte in shown else chr(next(spare)) for byte in range(256)]


def words(pre: str) -> list[tuple[str, int]]:
    special = [("<|endoftext|>", CONTROL), ("<|im_start|>", CONTROL), ("<|im_end|>", CONTROL)]
    space, line = alphabet()[32], alphabet()[10]
    base = [(letter, NORMAL) for letter in [*alphabet(), space * 2, line * 2, line + space]]
    if pre == "smollm":
        return special + base
    added = [*special, ("<tool_call>", USER_DEFINED), ("<|fim_prefix|>", CONTROL)]
    return base + added + [(f"[PAD{n}]", UNUSED) for n in range(5)]


def random_model(pre: str) -> Any:
    """One layer; SmolLM ties its output to its embedding."""
    config_class = transformers.LlamaConfig if pre == "smollm" else transformers.Qwen2Config
    config = config_class(
        vocab_size=len(words(pre)), hidden_size=64, intermediate_size=128, num_hidden_layers=1, num_attention_heads=4,
        num_key_value_heads=2, tie_word_embeddings=pre == "smollm", bos_token_id=None, eos_token_id=None,
    )  # fmt: skip
    return transformers.AutoModelForCausalLM.from_config(config)


def write_gguf(path: Path, pre: str) -> dict[str, Any]:
    """A random model, half of it quantised; returns its tensors as the file holds them, by transformers' names."""
    arch, vocabulary = "llama" if pre == "smollm" else "qwen2", words(pre)
    ids = {word: i for i, (word, _) in enumerate(vocabulary)}
    space, line = alphabet()[32], alphabet()[10]
    out = gguf.GGUFWriter(path, arch)
    fields: dict[str, Any] = {
        "name": "Tiny", "context_length": 256, "embedding_length": 64, "block_count": 1, "feed_forward_length": 128,
        "head_count": 4, "head_count_kv": 2, "rope_freq_base": 10_000.0, "layer_norm_rms_eps": 1e-5,
        "vocab_size": len(vocabulary), "rope_dimension_count": 16, "tokenizer_model": "gpt2", "tokenizer_pre": pre,
        "token_list": list(ids), "token_types": [kind for _, kind in vocabulary],
        "token_merges": [f"{space} {space}", f"{line} {line}", f"{line} {space}"],
        "bos_token_id": ids["<|im_start|>" if pre == "smollm" else "<|endoftext|>"],
        "eos_token_id": ids["<|im_end|>"], "pad_token_id": ids["<|endoftext|>"], "add_bos_token": False,
        "chat_template": TEMPLATE,
    }  # fmt: skip
    for field, value in fields.items():
        getattr(out, f"add_{field}")(value)
    names = gguf.get_tensor_name_map(next(a for a, name in gguf.MODEL_ARCH_NAMES.items() if name == arch), 1)
    model, held = random_model(pre), {}
    for name, tensor in model.named_parameters():  # of tied ones, one
        data, called = tensor.detach().numpy(), names.get_name(name, (".weight", ".bias"))
        if data.ndim == 2:
            kind = gguf.GGMLQuantizationType.Q8_0
            packed = gguf.quants.quantize(data, kind)
            out.add_tensor(called, packed, raw_dtype=kind)
            data = gguf.quants.dequantize(packed, kind)
        else:
            out.add_tensor(called, data)
        held[name] = torch.from_numpy(data)
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()
    return held


@pytest.fixture(scope="module", params=["qwen2", "smollm"])
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path, dict[str, Any]]:
    folder = tmp_path_factory.mktemp(request.param)
    held = write_gguf(folder / "model.gguf", request.param)
    (folder / "model").mkdir()
    convert(folder / "model.gguf", folder / "model")
    return request.param, folder / "model", held


Made = tuple[str, Path, dict[str, Any]]


def test_the_weights_are_the_files_rounded_once(made: Made) -> None:
    pre, folder, held = made
    model, loading = transformers.AutoModelForCausalLM.from_pretrained(folder, output_loading_info=True, dtype="auto")
    assert {parameter.dtype for parameter in model.parameters()} == {torch.bfloat16}
    assert not any(loading.values()), loading
    state = model.state_dict()
    for name, tensor in held.items():
        if pre == "qwen2" or not ("q_proj" in name or "k_proj" in name):  # GGUF has llama's in another order
            assert torch.equal(state[name], tensor.to(torch.bfloat16)), name
    assert not hasattr(model.config, "quantization_config")
    assert model.config.tie_word_embeddings == (pre == "smollm")
    with safe_open(folder / "model.safetensors", "pt") as file:  # tied ones are stored once
        assert set(file.keys()) == held.keys()


def test_texts_come_back_and_special_words_are_whole(made: Made) -> None:
    pre, folder, _ = made
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    for text in TEXTS:
        want = unicodedata.normalize("NFC", text) if pre == "qwen2" else text
        assert tokenizer.decode(tokenizer.encode(text)) == want
    assert tokenizer.tokenize("<|im_start|>a<|im_end|>") == ["<|im_start|>", "a", "<|im_end|>"]
    assert (tokenizer.eos_token, tokenizer.pad_token) == ("<|im_end|>", "<|endoftext|>")
    assert tokenizer.bos_token == ("<|im_start|>" if pre == "smollm" else None)
    assert len(tokenizer) == sum(kind != UNUSED for _, kind in words(pre))
    assert all(tokenizer.convert_tokens_to_ids(w) == i for i, (w, kind) in enumerate(words(pre)) if kind != UNUSED)


def test_words_are_cut_as_the_family_cuts_them(made: Made) -> None:
    pre, folder, _ = made
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    space, line = alphabet()[32], alphabet()[10]
    # GPT-2's rule would give the digit a space of its own, and leave the line and the first space apart.
    cut = {"smollm": [line + space, "1", "2"], "qwen2": [line, space, "1", "2"]}
    assert tokenizer.tokenize("\n 12") == cut[pre]
    cut = {"smollm": [space * 2, "1"], "qwen2": [space, space, "1"]}
    assert tokenizer.tokenize("  1") == cut[pre]
    if pre == "qwen2":
        assert tokenizer.tokenize("<tool_call>") == ["<tool_call>"]
        ids = tokenizer.encode("<|fim_prefix|><tool_call><|im_end|>")
        assert tokenizer.decode(ids, skip_special_tokens=True) == "<|fim_prefix|><tool_call>"


def test_the_file_itself_is_whole(made: Made) -> None:
    """Not only after a tokenizer class of `transformers` has put back what a family needs."""
    pre, folder, _ = made
    file = json.loads((folder / "tokenizer.json").read_text())
    assert file["normalizer"] == ({"type": "NFC"} if pre == "qwen2" else None)
    added = [(word["content"], word["special"]) for word in file["added_tokens"]]
    assert ("<|im_end|>", True) in added
    assert pre == "smollm" or {("<tool_call>", False), ("<|fim_prefix|>", False)} <= set(added)
    assert ("<|im_end|>" in file["model"]["vocab"]) == (pre == "smollm")  # as the publishers' files have it
    assert not any(word.startswith("[PAD") for word in file["model"]["vocab"])


def test_template_and_ends_survive(made: Made) -> None:
    pre, folder, _ = made
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    told = tokenizer.apply_chat_template([{"role": "user", "content": "hi"}], tokenize=False)
    assert told == "<|im_start|>hi<|im_end|>"
    config = transformers.GenerationConfig.from_pretrained(folder)
    end, text_end = tokenizer.convert_tokens_to_ids(["<|im_end|>", "<|endoftext|>"])
    assert config.eos_token_id == ([end, text_end] if pre == "qwen2" else end)
    assert config.pad_token_id == text_end
    assert not config.do_sample
    assert tokenizer.model_max_length == 256


def test_an_unknown_tokenizer_is_refused(tmp_path: Path) -> None:
    write_gguf(tmp_path / "model.gguf", "qwen2")
    data = (tmp_path / "model.gguf").read_bytes()
    at = data.index(b"qwen2", data.index(b"tokenizer.ggml.pre"))
    (tmp_path / "model.gguf").write_bytes(data[:at] + b"other" + data[at + 5 :])
    with pytest.raises(OospecError, match="'other'; known: qwen2, smollm"):
        convert(tmp_path / "model.gguf", tmp_path)
