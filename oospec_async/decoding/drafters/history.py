"""History: how earlier outputs went on, most similar prompts first (ToolSpec, retrieval over past calls)."""

from __future__ import annotations

from oospec_async.decoding.drafters.base import Drafter
from oospec_async.decoding.memory import NGRAM_SIZES, Entry
from oospec_async.decoding.tree import Candidate
from oospec_async.decoding.view import View

_LENGTH = 16  # tokens drafted
_ALTERNATIVES = 2  # distinct continuations
_PRIORS = {7: 0.7, 6: 0.65, 5: 0.6}


class History(Drafter):
    name = "history"

    def propose(self, view: View) -> list[Candidate]:
        found: dict[tuple[int, ...], Candidate] = {}
        output = tuple(view.output)
        if len(output) < NGRAM_SIZES[-1]:  # too short to match: outputs that begin like this one
            for entry in view.memory.entries:
                if entry.tokens[: len(output)] == output:
                    self._add(found, entry, len(output), 0.5)
                if len(found) == _ALTERNATIVES:
                    break
            return list(found.values())
        for size in NGRAM_SIZES:
            suffix = output[-size:]
            for entry in view.memory.entries:
                end = entry.grams.get(suffix)
                if end is not None:
                    self._add(found, entry, end, _PRIORS[size])
                if len(found) == _ALTERNATIVES:
                    return list(found.values())
        return list(found.values())

    def _add(self, found: dict[tuple[int, ...], Candidate], entry: Entry, start: int, prior: float) -> None:
        tokens = entry.tokens[start : start + _LENGTH]
        if tokens:
            # A second, less similar answer is the less likely one.
            found.setdefault(tokens, Candidate(tokens, self.name, prior / (1 + len(found)), 0.85))
