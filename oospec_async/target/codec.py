"""A ``transformers`` tokenizer as the core sees it, without the wrapper's per-call cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class TokenizerCodec:
    def __init__(self, tokenizer: Any) -> None:
        """``tokenizer``: a fast tokenizer. It may carry what a training script has set, and cuts and pads no more."""
        self._backend = tokenizer.backend_tokenizer
        self._backend.no_truncation()
        self._backend.no_padding()

    def encode(self, text: str) -> list[int]:
        ids: list[int] = self._backend.encode(text, add_special_tokens=False).ids
        return ids

    def decode(self, ids: Sequence[int]) -> str:
        text: str = self._backend.decode(list(ids), skip_special_tokens=False)
        return text
