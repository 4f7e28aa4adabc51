"""Draft: how a smaller model with the target's tokenizer goes on (speculative decoding, Leviathan et al. 2023, greedy).

The model runs beside this drafter, which only hands on what it has said: the chain in the view.
"""

from __future__ import annotations

import math

from oospec_async.decoding.drafters.base import Drafter
from oospec_async.decoding.drafters.needs import CHAINS
from oospec_async.decoding.tree import Candidate
from oospec_async.decoding.view import View


class ModelDrafter(Drafter):
    name = "draft"
    needs = (CHAINS,)

    def propose(self, view: View) -> list[Candidate]:
        chain = view.chain
        if not chain.tokens:
            return []
        first, *rest = chain.probabilities
        survival = math.prod(rest) ** (1 / len(rest)) if rest else 1.0  # a candidate has one for all of its tokens
        return [Candidate(chain.tokens, self.name, first, survival)]
