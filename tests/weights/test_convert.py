"""A tiny GGUF of each family through the real conversion: weights, tokenizer, template, generation config."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path
from typing import Any

import pytest

from oospec_async.errors import OospecError
from oospec_async.weights.convert import convert

gguf = pytest.importorskip("gguf")
np = pytest.importorskip("numpy")
torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

WIDTH, HEADS, LAYERS = 64, 4, 1
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


def write_gguf(path: Path, pre: str, *, tied: bool) -> dict[str, Any]:
    """A random one-layer model, half of it quantised; returns its tensors as the file holds them, in float32."""
    arch = {"smollm": "llama"}.get(pre, "qwen2")
    vocabulary = words(pre)
    ids = {word: i for i, (word, _) in enumerate(vocabulary)}
    space, line = alphabet()[32], alphabet()[10]
    out = gguf.GGUFWriter(path, arch)
    out.add_name("Tiny")
    out.add_context_length(256)
    out.add_embedding_length(WIDTH)
    out.add_block_count(LAYERS)
    out.add_feed_forward_length(2 * WIDTH)
    out.add_head_count(HEADS)
    out.add_head_count_kv(HEADS // 2)
    out.add_rope_freq_base(10_000.0)
    out.add_layer_norm_rms_eps(1e-5)
    if arch == "llama":
        out.add_vocab_size(len(vocabulary))
        out.add_rope_dimension_count(WIDTH // HEADS)
    out.add_tokenizer_model("gpt2")
    out.add_tokenizer_pre(pre)
    out.add_token_list([word for word, _ in vocabulary])
    out.add_token_types([kind for _, kind in vocabulary])
    out.add_token_merges([f"{space} {space}", f"{line} {line}", f"{line} {space}"])
    out.add_bos_token_id(ids["<|endoftext|>" if arch == "qwen2" else "<|im_start|>"])
    out.add_eos_token_id(ids["<|im_end|>"])
    out.add_pad_token_id(ids["<|endoftext|>"])
    out.add_add_bos_token(False)
    out.add_chat_template(TEMPLATE)

    shapes: dict[str, tuple[int, ...]] = {"token_embd.weight": (len(vocabulary), WIDTH), "output_norm.weight": (WIDTH,)}
    if not tied:
        shapes["output.weight"] = (len(vocabulary), WIDTH)
    for i in range(LAYERS):
        for name, shape in {
            "attn_norm.weight": (WIDTH,),
            "ffn_norm.weight": (WIDTH,),
            "attn_q.weight": (WIDTH, WIDTH),
            "attn_k.weight": (WIDTH // 2, WIDTH),
            "attn_v.weight": (WIDTH // 2, WIDTH),
            "attn_output.weight": (WIDTH, WIDTH),
            "ffn_gate.weight": (2 * WIDTH, WIDTH),
            "ffn_up.weight": (2 * WIDTH, WIDTH),
            "ffn_down.weight": (WIDTH, 2 * WIDTH),
            **({f"attn_{x}.bias": (n,) for x, n in (("q", 64), ("k", 32), ("v", 32))} if arch == "qwen2" else {}),
        }.items():
            shapes[f"blk.{i}.{name}"] = shape
    random = np.random.default_rng(0)
    held = {}
    for name, shape in shapes.items():
        data = random.normal(scale=0.1, size=shape).astype(np.float32)
        if len(shape) == 2:
            kind = gguf.GGMLQuantizationType.Q8_0
            packed = gguf.quants.quantize(data, kind)
            out.add_tensor(name, packed, raw_dtype=kind)
            data = gguf.quants.dequantize(packed, kind)
        else:
            out.add_tensor(name, data)
        held[name] = torch.from_numpy(data)
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()
    return held


@pytest.fixture(scope="module", params=["qwen2", "smollm"])
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path, dict[str, Any]]:
    folder = tmp_path_factory.mktemp(request.param)
    held = write_gguf(folder / "model.gguf", request.param, tied=request.param == "smollm")
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
    same = {
        "model.embed_tokens.weight": "token_embd.weight",
        "model.norm.weight": "output_norm.weight",
        "lm_head.weight": "token_embd.weight" if pre == "smollm" else "output.weight",
        "model.layers.0.mlp.down_proj.weight": "blk.0.ffn_down.weight",
        "model.layers.0.self_attn.v_proj.weight": "blk.0.attn_v.weight",
        "model.layers.0.input_layernorm.weight": "blk.0.attn_norm.weight",
    }
    for name, origin in same.items():
        assert torch.equal(state[name], held[origin].to(torch.bfloat16)), name
    assert not hasattr(model.config, "quantization_config")
    assert model.config.tie_word_embeddings == (pre == "smollm")


def test_tied_weights_are_stored_once(made: Made) -> None:
    from safetensors import safe_open

    pre, folder, held = made
    with safe_open(folder / "model.safetensors", "pt") as file:
        names = set(file.keys())
    assert len(names) == len(held)
    assert ("lm_head.weight" in names) == (pre == "qwen2")


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
    write_gguf(tmp_path / "model.gguf", "qwen2", tied=False)
    data = (tmp_path / "model.gguf").read_bytes()
    at = data.index(b"qwen2", data.index(b"tokenizer.ggml.pre"))
    (tmp_path / "model.gguf").write_bytes(data[:at] + b"other" + data[at + 5 :])
    with pytest.raises(OospecError, match="'other'; known: qwen2, smollm"):
        convert(tmp_path / "model.gguf", tmp_path)
