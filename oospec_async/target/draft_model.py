"""A draft model: a smaller causal LM on the target's device that says how the target may go on."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import torch

from oospec_async.decoding.draft_chain import LONGEST_CHAIN, NO_CHAIN, Chain, ChainCosts
from oospec_async.decoding.tree import VerifyCurve
from oospec_async.errors import OospecError
from oospec_async.target.greedy import GreedyRule
from oospec_async.target.tree_model import TreeModel

_STEP_CONTEXT = 256  # rows of cache while a step is timed
_STEP_REPEATS = 3


class DraftModel:
    """Reads what is committed and goes on greedily, for as long as that is worth its time.

    What it has read stays in its cache; tokens that it said and the target did not are cut off with the next chain.
    """

    def __init__(self, model: TreeModel, rule: GreedyRule, costs: ChainCosts, vocabulary: int) -> None:
        """``rule``: the target's, for it is the target's choice that is to be guessed; ``vocabulary``: the target's."""
        self.costs = costs
        self._model = model
        self._rule = rule
        self._known = min(model.vocabulary, vocabulary)  # rows beyond it are padding of one of the two

    @classmethod
    def calibrated(cls, model: TreeModel, rule: GreedyRule, curve: VerifyCurve, vocabulary: int) -> DraftModel:
        """With the seconds that a step takes here: the best of a few, as in ``curve``."""
        draft_model = cls(model, rule, ChainCosts(0.0, curve), vocabulary)
        length = min(_STEP_CONTEXT, model.context // 2)
        model.read([0] * length, reuse=False)
        times = []
        for _ in range(_STEP_REPEATS):
            start = time.monotonic_ns()
            draft_model._choose(model.extend([0], [length - 1]).rows, [0])
            times.append((time.monotonic_ns() - start) / 1e9)
            model.truncate(length)
        model.truncate(0)
        draft_model.costs = ChainCosts(min(times), curve)
        return draft_model

    @property
    def line(self) -> str:
        """For people: what a token costs, and whether any chain could pay for itself."""
        step, verify = 1000 * self.costs.step, 1000 * self.costs.curve.seconds(1)
        said = f"draft model: {step:.3g} ms a token, where the target takes {verify:.3g} ms"
        return said if self.costs.pays((), LONGEST_CHAIN) else f"{said}: no chain would pay for itself, none is drafted"

    def begin(self, *, reuse: bool = False) -> None:
        """A new request. Without ``reuse`` nothing that was read before is used again."""
        if not reuse:
            self._model.truncate(0)

    def chain(self, tokens: Sequence[int], limit: int) -> Chain:
        """How ``tokens`` (prompt and output) go on, in at most ``limit`` tokens that the target knows.

        Empty where no chain pays, beyond the model's context, and after ids that it does not know. An end token is the
        last. The first chain of a request reads its prompt.
        """
        model = self._model
        limit = min(limit, model.context - len(tokens) + 1)  # the last one said need not be read
        if not self.costs.pays((), limit) or max(tokens) >= model.vocabulary:
            return NO_CHAIN
        with model.released_on_failure():
            return self._go_on(tokens, limit)

    def _go_on(self, tokens: Sequence[int], limit: int) -> Chain:
        model = self._model
        logits, _ = model.read(tokens, reuse=True)
        said: list[int] = []
        probabilities: list[float] = []
        seen = [token for token in tokens if token < self._known]
        while True:
            token, probability = self._choose(logits.rows, seen)
            if not probability > 0:  # NaN
                break
            said.append(token)
            probabilities.append(probability)
            if token in self._rule.end_tokens or not self.costs.pays(probabilities, limit):
                break
            logits = model.extend([token], [model.trunk - 1])
            model.keep([model.trunk])
            seen.append(token)
        return Chain(tuple(said), tuple(probabilities))

    def _choose(self, rows: torch.Tensor, seen: Sequence[int]) -> tuple[int, float]:
        """``rows`` [1, vocabulary]: the next token by the target's rule, and its probability before that."""
        known = rows[:, : self._known]
        token = self._rule.choose(known, seen, [()]).predicted[0]
        return token, float(torch.softmax(known[0].float(), dim=-1)[token])


def check_vocabularies(draft: Any, target: Any, known: int, names: tuple[str, str]) -> None:
    """Whether two tokenizers mean the same by every id below ``known`` that both have a word for.

    Words that only one of them has, as of padding rows, are no difference. ``names``: the draft model's, the target's.
    Raises OospecError.
    """
    words, others = ({id_: word for word, id_ in each.get_vocab().items()} for each in (draft, target))
    common = sorted(id_ for id_ in words.keys() & others.keys() if id_ < known)
    odd = next((id_ for id_ in common if words[id_] != others[id_]), None)
    if odd is not None or not common:
        reason = f"id {odd} is {words[odd]!r}, not {others[odd]!r}" if odd is not None else "no id in common"
        raise OospecError(
            f"draft model {names[0]}: its tokenizer is not that of {names[1]} ({reason}); "
            f"name a draft model of the target's family, or none"
        )
