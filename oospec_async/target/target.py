"""The target: prefill a prompt, verify trees. Runs on its executor; only ids and small vectors leave it."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from oospec_async.decoding.forward import TargetForward
from oospec_async.decoding.tree import VerifyCurve
from oospec_async.target.greedy import GreedyRule
from oospec_async.target.tree_model import TreeModel

_CURVE_SIZES = (1, 2, 4, 8, 16, 32, 48)
_CURVE_CONTEXT = 256  # rows of cache during calibration
_CURVE_REPEATS = 3


class Target:
    """One request at a time: ``prefill`` begins it, each ``verify`` keeps the accepted path and runs the next tree."""

    def __init__(self, model: TreeModel, rule: GreedyRule) -> None:
        self.model = model
        self._rule = rule
        self._committed: list[int] = []
        self._tree: Sequence[int] = ()
        self._base = 0  # row of the last tree's root

    @property
    def context(self) -> int:
        return self.model.context

    @property
    def vocabulary(self) -> int:
        return self.model.vocabulary

    @property
    def end_tokens(self) -> frozenset[int]:
        return self._rule.end_tokens

    def prefill(self, prompt: Sequence[int], *, reuse: bool = False) -> TargetForward:
        """Read a prompt, of which a beginning that the last request had too need not be read again if ``reuse``.

        The step's one node is the prompt's last token.
        """
        start = time.monotonic_ns()
        with self.model.released_on_failure():
            logits, reused = self.model.read(prompt, reuse=reuse)
            self._committed, self._tree, self._base = list(prompt), prompt[-1:], len(prompt) - 1
            choice = self._rule.choose(logits.rows, self._committed, [()])
            state = np.asarray(logits.state.float().cpu().numpy())
        return TargetForward(
            choice.predicted, choice.successors, choice.margins, start, time.monotonic_ns(), state, reused
        )

    def verify(self, path: Sequence[int], tokens: Sequence[int], parents: Sequence[int]) -> TargetForward:
        """Keep ``path`` of the last tree (nodes, root first), then run a tree whose root follows it."""
        start = time.monotonic_ns()
        model = self.model
        with model.released_on_failure():
            if model.trunk == self._base:  # a prompt is kept already
                model.keep([self._base + node for node in path])
            self._committed += [self._tree[node] for node in path[1:]] + [tokens[0]]
            self._base, self._tree = model.trunk, tokens
            logits = model.extend(tokens, [self._base + parent for parent in parents])
            choice = self._rule.choose(logits.rows, self._committed, _paths(tokens, parents))
        return TargetForward(choice.predicted, choice.successors, choice.margins, start, time.monotonic_ns())

    def calibrate(self) -> VerifyCurve:
        """Measure the seconds that trees of several sizes take here: the best of a few runs each, never falling."""
        length = min(_CURVE_CONTEXT, self.context // 2)
        self.prefill([0] * length)
        samples: list[tuple[int, float]] = []
        for size in (n for n in _CURVE_SIZES if length + n <= self.context):
            times = []
            for _ in range(_CURVE_REPEATS):
                self._base, self._tree, self._committed = self.model.trunk + 1, (), []
                step = self.verify((), [0] * size, range(-1, size - 1))
                self.model.truncate(length)
                times.append((step.end_ns - step.start_ns) / 1e9)
            samples.append((size, max([min(times), *(seconds for _, seconds in samples)])))
        self.model.truncate(0)
        return VerifyCurve(tuple(samples))


def _paths(tokens: Sequence[int], parents: Sequence[int]) -> list[list[int]]:
    """For each node the tokens from below the root to itself."""
    paths: list[list[int]] = [[]]
    for token, parent in zip(tokens[1:], parents[1:], strict=True):
        paths.append([*paths[parent], token])
    return paths
