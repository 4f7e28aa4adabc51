"""Prompt lookup: what followed the last tokens where they stood before (Prompt Lookup Decoding)."""

from __future__ import annotations

from collections.abc import Sequence

from oospec_async.decoding.drafters.base import Drafter
from oospec_async.decoding.tree import Candidate
from oospec_async.decoding.view import View

_SIZES = (4, 3, 2)  # n-gram sizes, longest match first
_LENGTH = 10  # tokens drafted


class Lookup(Drafter):
    name = "lookup"

    def propose(self, view: View) -> list[Candidate]:
        tokens = [*view.prompt, *view.output]
        for size in _SIZES:
            end = _latest(tokens, size)
            if end is not None:
                return [Candidate(tuple(tokens[end : end + _LENGTH]), self.name, 0.3 + 0.1 * size, 0.85)]
        return []


def _latest(tokens: Sequence[int], size: int) -> int | None:
    """Offset after the latest earlier occurrence of the last ``size`` tokens."""
    if len(tokens) <= size:
        return None
    suffix, last = list(tokens[-size:]), tokens[-1]
    for end in range(len(tokens) - 1, size - 1, -1):
        if tokens[end - 1] == last and list(tokens[end - size : end]) == suffix:
            return end
    return None
