"""Keep a slot's answer to values of its kind: a mask over the vocabulary for its first and its further tokens."""

from __future__ import annotations

import re

import torch

from oospec_async.decoding.text import Codec
from oospec_async.request import Parameter
from oospec_async.schema import Kind

_NUMBER = re.compile(r" ?-?\d+\.?\d*|\.\d*|\d*")
# What the first token of an answer may be, by kind; a space stands before every answer.
_FIRST: dict[Kind, re.Pattern[str]] = {
    "string": re.compile(r' "[^\n]*'),
    "integer": re.compile(r" ?-?\d*"),
    "number": re.compile(r" ?-?\d*\.?\d*"),
    "boolean": re.compile(r" (true|false)"),
    "array": re.compile(r" \[[^\n]*"),
    "object": re.compile(r" \{[^\n]*"),
}
_NULL = re.compile(r" null")
# Targets write most optional arguments, a default if nothing else: a null that is not certain is worse than a value.
_CERTAIN = 0.8


class ValueMasks:
    """Masks are made once per sidecar: [vocabulary], true where a token is allowed."""

    def __init__(self, codec: Codec, vocabulary: int, device: str = "cpu") -> None:
        texts = [codec.decode([token]) for token in range(vocabulary)]

        def mask(pattern: re.Pattern[str]) -> torch.Tensor:
            return torch.tensor([bool(text) and pattern.fullmatch(text) is not None for text in texts], device=device)

        self._first = {kind: mask(pattern) for kind, pattern in _FIRST.items()}
        self._null = mask(_NULL)
        self._digits = mask(_NUMBER) | mask(re.compile(r"\n+"))

    def pick(self, logits: torch.Tensor, parameter: Parameter, begun: bool) -> int:
        """The best allowed token. ``logits`` [vocabulary]; ``begun``: the answer has a first token already."""
        allowed = self._allowed(parameter, begun)
        if allowed is not None and bool(allowed.any()):
            logits = logits.masked_fill(~allowed, -torch.inf)
        best = int(logits.argmax())
        if not begun and bool(self._null[best]) and float(torch.softmax(logits.float(), -1)[best]) < _CERTAIN:
            values = logits.masked_fill(self._null, -torch.inf)
            return int(values.argmax()) if bool(values.isfinite().any()) else best
        return best

    def _allowed(self, parameter: Parameter, begun: bool) -> torch.Tensor | None:
        kind = parameter.kind
        if begun:
            return self._digits if kind in ("integer", "number") else None
        first = self._first.get(kind)
        return first if first is None or parameter.required else first | self._null
