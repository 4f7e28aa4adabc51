"""The tiny models of ``oospec_async.testing``, on one thread."""

from __future__ import annotations

import torch
import transformers

from oospec_async.request import Request
from oospec_async.target.prompts import Prompts
from oospec_async.testing.models import (
    CONTEXT,
    FAMILIES,
    PADDING,
    TEMPLATE,
    codec,
    draft_model_of,
    generate,
    random_model,
    target_of,
    tokenizer,
)
from oospec_async.testing.tools import ORDER, TIME, TOOLS, WEATHER, request

__all__ = [
    "CONTEXT",
    "FAMILIES",
    "ORDER",
    "PADDING",
    "TEMPLATE",
    "TIME",
    "TOOLS",
    "WEATHER",
    "codec",
    "draft_model_of",
    "generate",
    "prompt_ids",
    "random_model",
    "request",
    "target_of",
    "token",
    "tokenizer",
]

torch.set_num_threads(1)
transformers.utils.logging.set_verbosity_error()


def token(text: str) -> int:
    """The id of a text that is one token."""
    (only,) = codec().encode(text)
    return only


def prompt_ids(asked: Request) -> list[int]:
    return Prompts(tokenizer(), "tiny").ids(asked)
