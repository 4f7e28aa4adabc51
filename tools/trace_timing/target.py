"""Prefills and verifications of the target, of the sizes that a trace names."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

from oospec_async.decoding.tree import LARGEST_TREE
from oospec_async.target.greedy import GreedyRule
from oospec_async.target.target import Target
from oospec_async.target.tree_model import TreeModel
from oospec_async.trace import PrefillSample, VerifySample
from tools.gpu_checks.base import Shape
from tools.gpu_checks.randoms import shaped_model

_LAST_TREE = 15  # tokens of the tree before a measured one: a binary tree
_KEPT = (0, 2, 6, 14)  # of it: a path of rows that do not lie side by side, as an accepted one
_WARM_CONTEXT = 64
_WARM = (1, 2, 4, 8, 16, 32, 48, 64, 1, 16, 64)  # trees before anything is measured


class PacedTarget(Target):
    """A target that can be put in front of a round anywhere, as if the round before had committed a path of a tree."""

    def stand_at(self, context: int) -> None:
        """The next ``verify((…), …)`` of ``kept(context)`` first keeps that path and then has ``context`` rows."""
        start = context - len(kept(context))
        self.model.truncate(min(start, self.model.trunk))
        trunk = self.model.trunk
        if start > trunk:
            self.model.extend([0] * (start - trunk), range(trunk - 1, start - 1), wanted=[start - trunk - 1])
            self.model.keep(range(trunk, start))
        self._base, self._tree, self._committed = start, [0] * _LAST_TREE, [0] * start
        self.model.extend(self._tree, binary_tree(start, _LAST_TREE))


def kept(context: int) -> Sequence[int]:
    """Nodes that the round before a measured one has accepted."""
    return _KEPT if context >= len(_KEPT) else (0,)


def binary_tree(base: int, size: int) -> list[int]:
    """Rows of the parents of a binary tree whose root is row ``base`` and follows the trunk."""
    return [base - 1 if node == 0 else base + (node - 1) // 2 for node in range(size)]


def open_target(shape: Shape, device: str, context: int) -> PacedTarget:
    """A model of random weights. ``context``: rows that are needed."""
    model: Any = shaped_model(shape, device, context + LARGEST_TREE)
    return PacedTarget(TreeModel(model), GreedyRule(frozenset()))


class TargetClock:
    """Measures samples of a target; what is measured first warms the device up."""

    def __init__(self, target: PacedTarget, seed: int = 0) -> None:
        self._target = target
        self._chance = random.Random(seed)
        target.prefill(self._tokens(_WARM_CONTEXT))
        for size in _WARM:
            self._verify(_WARM_CONTEXT, size)

    def _tokens(self, count: int) -> list[int]:
        return [self._chance.randrange(self._target.vocabulary) for _ in range(count)]

    def prefills(self, samples: Sequence[PrefillSample], done: Callable[[], object]) -> list[PrefillSample]:
        measured = []
        for sample in samples:
            step = self._target.prefill(self._tokens(sample.tokens))
            measured.append(sample.model_copy(update={"seconds": (step.end_ns - step.start_ns) / 1e9}))
            done()
        return measured

    def verifies(self, samples: Sequence[VerifySample], done: Callable[[], object]) -> list[VerifySample]:
        """In the order of their contexts, which saves reading prompts again; returned in the order given."""
        measured = list(samples)
        self._target.prefill([0])
        for index in sorted(range(len(samples)), key=lambda i: samples[i].context):
            sample = samples[index]
            seconds = self._verify(max(sample.context, 1), sample.tokens)
            measured[index] = sample.model_copy(update={"seconds": seconds})
            done()
        return measured

    def _verify(self, context: int, size: int) -> float:
        self._target.stand_at(context)
        step = self._target.verify(kept(context), self._tokens(size), [-1, *((n - 1) // 2 for n in range(1, size))])
        return (step.end_ns - step.start_ns) / 1e9
