"""A GGUF file becomes a directory that `transformers` loads: bfloat16 weights, tokenizer, template, generation config.

`transformers` reads the weights and the model's configuration. The tokenizer is built here, from the file's own
metadata, because the one that `transformers` (5.24) builds differs from the publishers' in ways that change token ids:
it has no rule for `smollm` (a run of spaces or newlines before a digit is cut in the wrong place), drops Qwen2's NFC
normaliser, hides Qwen2's fill-in-the-middle words when decoding, and takes the padding rows of the embedding for words.
"""

from __future__ import annotations

import json
from contextlib import redirect_stderr
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

from oospec_async.errors import OospecError
from oospec_async.weights.quiet import errors_only

CONVERSION = 1
"""Raise this when the files written here change: models converted by an older number are converted again."""

_NORMAL, _CONTROL, _USER_DEFINED = 1, 3, 4  # GGUF's token types; 5 are padding rows, 2 and 6 are not in byte-level BPE


def _byte_level(*, spaced: bool = False, trimmed: bool = False, regex: bool = False) -> dict[str, Any]:
    return {"type": "ByteLevel", "add_prefix_space": spaced, "trim_offsets": trimmed, "use_regex": regex}


@dataclass(frozen=True)
class _Family:
    """What a GGUF only names (`tokenizer.ggml.pre`), or leaves out, in the form that `tokenizer.json` has."""

    pre_tokenizer: dict[str, Any]
    decoder: dict[str, Any]
    normalizer: dict[str, Any] | None = None
    post_processor: dict[str, Any] | None = None
    bos: bool = True  # whether the publisher's tokenizer names one (neither family puts it before a text)
    ends: tuple[str, ...] = ()  # words that end an output besides the tokenizer's EOS
    plain: frozenset[str] = frozenset()  # GGUF calls them control; the publisher's tokenizer shows them when decoding


_QWEN2_WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)

FAMILIES = {
    "qwen2": _Family(
        normalizer={"type": "NFC"},
        pre_tokenizer={
            "type": "Sequence",
            "pretokenizers": [
                {"type": "Split", "pattern": {"Regex": _QWEN2_WORDS}, "behavior": "Isolated", "invert": False},
                _byte_level(),
            ],
        },
        post_processor=_byte_level(),
        decoder=_byte_level(),
        bos=False,
        ends=("<|endoftext|>",),
        plain=frozenset(
            f"<|{w}|>" for w in ["fim_prefix", "fim_middle", "fim_suffix", "fim_pad", "repo_name", "file_sep"]
        ),
    ),
    "smollm": _Family(
        pre_tokenizer={
            "type": "Sequence",
            "pretokenizers": [{"type": "Digits", "individual_digits": True}, _byte_level(trimmed=True, regex=True)],
        },
        decoder=_byte_level(spaced=True, trimmed=True, regex=True),
    ),
}


def convert(gguf: Path, out: Path) -> None:
    """Write the model in file `gguf` to the existing folder `out`.

    Raises OospecError for a tokenizer it has no faithful rules for, a missing extra, or weights that cannot be written.
    """
    try:
        import gguf as reader
        import torch
        from transformers import AutoModelForCausalLM, GenerationConfig
        from transformers.utils import logging
    except ImportError as error:
        raise OospecError(f"{error.name} is missing: install the live extra, pip install 'oospec[live]'") from error
    with errors_only(logging), redirect_stderr(StringIO()):  # of transformers' progress bars some have no switch
        tokenizer, ends = _tokenizer(reader.GGUFReader(gguf))
        # Each tensor is dequantised to float32 and rounded once; asking for float32 would only need twice the memory.
        model = AutoModelForCausalLM.from_pretrained(
            gguf.parent, gguf_file=gguf.name, dtype=torch.bfloat16, local_files_only=True
        )
        # The weights are plain now, but the model still believes that it is quantised and would refuse to be saved.
        model.is_quantized, model.hf_quantizer = False, None
        for name in ("quantization_config", "_model_name_or_path"):
            if hasattr(model.config, name):
                delattr(model.config, name)
        model.generation_config = GenerationConfig(
            bos_token_id=model.config.bos_token_id,
            eos_token_id=ends if len(ends) > 1 else ends[0],
            pad_token_id=tokenizer.pad_token_id,
        )
        try:
            model.save_pretrained(out)
            tokenizer.save_pretrained(out)
        except OSError:
            raise
        except Exception as error:  # safetensors and tokenizers have kinds of their own for a full disk
            raise OospecError(f"cannot write the weights to {out}: {error}") from error
    for path in out.iterdir():
        path.chmod(0o644)  # safetensors writes for the owner alone


def _tokenizer(metadata: Any) -> tuple[Any, list[int]]:
    """The publisher's tokenizer with its chat template, and the ids that end an output, the tokenizer's EOS first."""
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

    def field(key: str) -> Any:
        found = metadata.get_field(key)
        return None if found is None else found.contents()

    rules = field("tokenizer.ggml.pre")
    if field("tokenizer.ggml.model") != "gpt2" or rules not in FAMILIES:
        raise OospecError(f"this GGUF has the tokenizer {rules!r}; known: {', '.join(sorted(FAMILIES))}")
    family = FAMILIES[rules]
    words: list[str] = field("tokenizer.ggml.tokens")
    kinds: list[int] = field("tokenizer.ggml.token_type")
    last = max(i for i, kind in enumerate(kinds) if kind == _NORMAL)
    spec = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {
                "id": i,
                "content": words[i],
                "single_word": False,
                "lstrip": False,
                "rstrip": False,
                "normalized": False,
                "special": kind == _CONTROL and words[i] not in family.plain,
            }
            for i, kind in enumerate(kinds)
            if kind in (_CONTROL, _USER_DEFINED)
        ],
        "normalizer": family.normalizer,
        "pre_tokenizer": family.pre_tokenizer,
        "post_processor": family.post_processor,
        "decoder": family.decoder,
        "model": {
            "type": "BPE",
            # Added words behind the vocabulary stay outside it, and the padding rows behind those are no words at all.
            "vocab": {word: i for i, word in enumerate(words[: last + 1])},
            "merges": [merge.split(" ") for merge in field("tokenizer.ggml.merges")],
        },
    }
    named: dict[str, str | None] = {}  # a None is kept: without it a tokenizer class puts in a default of its own
    for role, key in (("bos", "bos"), ("eos", "eos"), ("pad", "padding"), ("unk", "unknown")):
        index = field(f"tokenizer.ggml.{key}_token_id")
        named[f"{role}_token"] = None if index is None or (role == "bos" and not family.bos) else words[index]
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(json.dumps(spec)),
        model_max_length=field(f"{field('general.architecture')}.context_length"),
        clean_up_tokenization_spaces=False,
        **named,
    )
    tokenizer.chat_template = field("tokenizer.chat_template")
    ends = [tokenizer.eos_token_id, *(words.index(word) for word in family.ends)]
    return tokenizer, ends
