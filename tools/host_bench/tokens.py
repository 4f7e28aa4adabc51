"""The tokenizer that the outputs are written with."""

from __future__ import annotations

import json
from collections.abc import Sequence

from host_bench.cases import TOOLS, calls
from oospec_async.decoding.text import Codec
from oospec_async.errors import OospecError


def tokenizer() -> tuple[Codec, str, int]:
    """The default target's tokenizer if it lies on this disk, else a small one; its name; its end token."""
    from oospec_async.target.codec import TokenizerCodec
    from oospec_async.weights.fetch import DEFAULT_TARGET, resolve

    try:
        path = resolve(DEFAULT_TARGET, offline=True).path
    except OospecError:
        return _small_tokenizer(), "a byte-level BPE of 600 tokens, made here", 0
    import transformers

    loaded = transformers.AutoTokenizer.from_pretrained(path, local_files_only=True)
    return TokenizerCodec(loaded), DEFAULT_TARGET, int(loaded.eos_token_id)


def _small_tokenizer() -> Codec:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer, bpe.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=600,
        special_tokens=["<|end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    texts = [json.dumps(call, ensure_ascii=False) for call, _ in zip(calls(), range(40), strict=False)]
    bpe.train_from_iterator([*texts, *(tool.model_dump_json() for tool in TOOLS)], trainer)

    class Small:
        def encode(self, text: str) -> list[int]:
            ids: list[int] = bpe.encode(text, add_special_tokens=False).ids
            return ids

        def decode(self, ids: Sequence[int]) -> str:
            text: str = bpe.decode(list(ids), skip_special_tokens=False)
            return text

    return Small()
