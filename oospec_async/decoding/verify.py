"""Verification: which drafted tokens are the target's own, and the one place where a request ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from oospec_async.decoding.text import Codec, OutputText
from oospec_async.decoding.tree import DraftTree

Finish = Literal["stop", "length"]


@dataclass(frozen=True)
class Limits:
    """What ends a request. ``max_new_tokens`` counts every output token, an end token included."""

    max_new_tokens: int
    end_tokens: frozenset[int] = frozenset()
    stop: tuple[str, ...] = ()


@dataclass(frozen=True)
class Verdict:
    """``tokens`` are to be committed; the last comes from the target itself, those before it were drafted.

    ``path`` lists the nodes whose tokens are committed by now, root first: the KV rows to keep.
    """

    tokens: tuple[int, ...]
    path: tuple[int, ...]
    finish: Finish | None


class Verifier:
    """Accepts drafts and ends the request: end tokens, ``max_new_tokens`` and stop strings are handled here alone."""

    def __init__(self, limits: Limits, codec: Codec) -> None:
        self._limits = limits
        self._text = OutputText(codec) if limits.stop else None
        self._count = 0

    def verify(self, tree: DraftTree, predicted: Sequence[int]) -> Verdict:
        """Walk from the root along the target's predictions (``predicted[n]`` follows node n) while they were drafted.

        Nothing after the token that ends the request is accepted.
        """
        tokens: list[int] = []
        path = [0]
        while True:
            token = predicted[path[-1]]
            tokens.append(token)
            finish = self._finish(token)
            child = tree.children[path[-1]].get(token)
            if finish is not None or child is None:
                return Verdict(tuple(tokens), tuple(path), finish)
            path.append(child)

    def _finish(self, token: int) -> Finish | None:
        self._count += 1
        if token in self._limits.end_tokens:
            return "stop"
        if self._text is not None:
            self._text.append(token)
            text = self._text.text
            if any(stop in text for stop in self._limits.stop):
                return "stop"
        return "length" if self._count >= self._limits.max_new_tokens else None
