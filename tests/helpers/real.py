"""Real tokenizers, where a folder of them is at hand: OOSPEC_TOKENIZERS names it, or it lies beside the checkout."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

_BESIDE = Path(__file__).parents[3] / "shared" / "tokenizers"


def tokenizer(name: str) -> Any:
    """The tokenizer of a folder; skips the test where there is none."""
    folder = Path(os.environ.get("OOSPEC_TOKENIZERS", _BESIDE)) / name
    if not (folder / "tokenizer.json").exists():
        pytest.skip(f"no tokenizer at {folder}")
    import transformers

    return transformers.AutoTokenizer.from_pretrained(folder)
