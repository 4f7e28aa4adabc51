"""Successor table: the top-k tokens after each committed token (Token Recycling, from committed positions only)."""

from __future__ import annotations

from oospec_async.decoding.drafters.base import Drafter
from oospec_async.decoding.tree import Candidate
from oospec_async.decoding.view import View

_RANKS = (0.45, 0.12, 0.06, 0.04, 0.03, 0.02, 0.02, 0.02)  # chance that the successor of this rank is right
_DEPTH = 6


class Recycle(Drafter):
    name = "recycle"

    def propose(self, view: View) -> list[Candidate]:
        """One chain per successor of the last token, each followed by first-ranked successors."""
        candidates = []
        for rank, token in enumerate(view.memory.successors_of(view.last)[: len(_RANKS)]):
            chain = [token]
            while len(chain) < _DEPTH and (following := view.memory.successors_of(chain[-1])):
                chain.append(following[0])
            candidates.append(Candidate(tuple(chain), self.name, _RANKS[rank], _RANKS[0]))
        return candidates
