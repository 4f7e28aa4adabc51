"""All rows of a request in one sequence: the prefix once, every question a branch of it, as in the wave.

A request costs about one prompt, not one per row.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from oospec_async.decoding.text import Codec
from oospec_async.request import Request
from oospec_async.sidecar.questions import answer_text, prefix
from oospec_async.training.data.training_rows import Taught, TrainingRow

# How much of the rows is trained on. What a wave never uses is worth little time: slots of functions that are not
# called, and whole answers. And where gold leaves an argument out, targets often write a default or a schema's example.
_NOT_CALLED, _WHOLE, _LEFT_OUT_BY_GOLD = 0.15, 0.5, 0.1


@dataclass
class Packed:
    """A tree of tokens over one prefix. Node i follows ``parents[i]`` (-1: it begins the sequence).

    ``targets[i]`` is the token that node i should predict, or -1; ``weights[i]`` its share of the loss.
    """

    tokens: list[int] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    targets: list[int] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.tokens)

    def chain(self, tokens: Sequence[int], parent: int) -> int:
        """Append tokens after ``parent``; returns the last node."""
        for token in tokens:
            self.tokens.append(token)
            self.parents.append(parent)
            self.targets.append(-1)
            self.weights.append(0.0)
            parent = len(self.tokens) - 1
        return parent

    def answer(self, tokens: Sequence[int], parent: int) -> None:
        """Append an answer after its question. An answer's weight is the root of its length: a long string is to count
        more than a null, but not to drown it.
        """
        weight = len(tokens) ** -0.5
        node = parent
        for index, token in enumerate(tokens):
            self.targets[node], self.weights[node] = token, weight
            if index < len(tokens) - 1:  # nothing follows the last one
                node = self.chain([token], node)

    def positions(self) -> NDArray[np.int64]:
        """[tokens]: depth of each node."""
        depths = np.zeros(len(self), dtype=np.int64)
        for node, parent in enumerate(self.parents):
            depths[node] = depths[parent] + 1 if parent >= 0 else 0
        return depths

    def sees(self) -> NDArray[np.bool_]:
        """[tokens, tokens]: whether a node sees another: its ancestors and itself."""
        sees = np.zeros((len(self), len(self)), dtype=bool)
        for node, parent in enumerate(self.parents):
            if parent >= 0:
                sees[node, :node] = sees[parent, :node]
            sees[node, node] = True
        return sees


def pack(request: Request, rows: Sequence[Taught], codec: Codec) -> Packed:
    packed = Packed()
    trunk = packed.chain(codec.encode(prefix(request)), -1)
    stems: dict[str, int] = {}
    for row in rows:
        if row.stem not in stems:
            stems[row.stem] = packed.chain(codec.encode(row.stem), trunk)
        asked = packed.chain(codec.encode(row.ask), stems[row.stem])
        packed.answer(codec.encode(row.answer), asked)
    return packed


def sampled(line: TrainingRow, rng: random.Random) -> list[Taught]:
    """The rows of a request to train on this time."""
    return [row for row in line.rows if rng.random() < _share(row, line.teacher)]


def _share(row: Taught, teacher: bool) -> float:
    if row.kind == "call":
        return _WHOLE
    if not row.chosen:
        return _NOT_CALLED
    left_out = row.kind == "argument" and row.answer == answer_text(None)
    return _LEFT_OUT_BY_GOLD if left_out and not teacher else 1.0
