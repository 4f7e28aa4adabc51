"""What each step trains on: the same for a seed, wherever a run is begun."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence

from oospec_async.decoding.text import Codec
from oospec_async.errors import OospecError
from oospec_async.training.data.training_rows import Taught, TrainingRow
from oospec_async.training.fit.pack import Packed, pack, sampled
from oospec_async.training.fit.recipe import Recipe

_DEV_REQUESTS = 64


class Feed:
    """Packed requests of the split ``train`` by step, and ``dev``: those that a loss is measured on."""

    def __init__(self, rows: Sequence[TrainingRow], codec: Codec, recipe: Recipe, seed: int) -> None:
        """``rows``: as ``read_training_rows`` gives them. Raises OospecError if there is nothing to train on."""
        self._codec, self._recipe, self._seed = codec, recipe, seed
        self._train = [row for row in rows if row.split == "train"]
        if not self._train:
            raise OospecError("no request of the rows is of the split 'train'; make more rows")
        if all(self._wave(row) is None for row in self._train):
            raise OospecError(
                f"no request of the split 'train' has an answer to train on within {recipe.longest} tokens, the "
                "longest that the recipe takes; offer fewer functions, or choose another recipe"
            )
        dev = [row for row in rows if row.split == "dev"][:_DEV_REQUESTS]
        self.dev = [packed for row in dev if (packed := self._wave(row)) is not None]

    @property
    def ids(self) -> list[str]:
        return [row.id for row in self._train]

    @property
    def steps(self) -> int:
        return self._recipe.epochs * math.ceil(len(self._train) / self._recipe.batch)

    def batches(self, first: int) -> Iterator[list[TrainingRow]]:
        """The requests of each step from step ``first`` on: in a seeded order, anew for each epoch."""
        size, step = self._recipe.batch, 0
        for epoch in range(self._recipe.epochs):
            order = list(self._train)
            random.Random(f"{self._seed} {epoch}").shuffle(order)
            for begin in range(0, len(order), size):
                if step >= first:
                    yield order[begin : begin + size]
                step += 1

    def packed(self, batch: Sequence[TrainingRow], step: int) -> list[Packed]:
        """The requests of a step that fit, each with rows that are sampled anew."""
        rng = random.Random(f"{self._seed} step {step}")
        return [packed for row in batch if (packed := self._pack(row, sampled(row, rng))) is not None]

    def _wave(self, row: TrainingRow) -> Packed | None:
        """What a wave asks of a request, nothing sampled."""
        return self._pack(row, [each for each in row.rows if each.chosen and each.kind != "call"])

    def _pack(self, row: TrainingRow, chosen: Sequence[Taught]) -> Packed | None:
        """None for a request that is too long, or that has no answer."""
        packed = pack(row.request, chosen, self._codec)
        return packed if len(packed) <= self._recipe.longest and any(packed.weights) else None
