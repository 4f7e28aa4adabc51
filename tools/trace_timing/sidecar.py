"""Forwards of the sidecar, of the sizes that a trace's waves have."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence

import torch

from oospec_async.request import Parameter
from oospec_async.sidecar.answers import is_finished
from oospec_async.sidecar.value_masks import ValueMasks
from oospec_async.target.codec import TokenizerCodec
from oospec_async.target.tree_model import TreeModel
from oospec_async.trace import Wave, WaveStep
from tools.gpu_checks.base import Shape
from tools.gpu_checks.randoms import shaped_model, synchronize, tokenizer

_SLOTS = (  # answers are read as those of slots of these kinds are, in turn
    Parameter(name="text", schema_={"type": "string"}, required=True),
    Parameter(name="count", schema_={"type": "integer"}),
)
_ANSWER = 6  # tokens of an answer that are decoded after each step
_WARM_PREFILL, _WARM_STEPS = 32, ((12, 4), (4, 4), (3, 3), (1, 1))  # tokens; tokens and branches


class SidecarClock:
    """Goes through the forwards of waves with a model of random weights."""

    def __init__(self, shape: Shape, device: str, context: int, seed: int = 0) -> None:
        """``context``: the most rows that a wave has."""
        self._model = TreeModel(shaped_model(shape, device, context + 1))
        self._codec = TokenizerCodec(tokenizer(self._model.vocabulary))
        self._masks = ValueMasks(self._codec, self._model.vocabulary, device)
        self._device, self._chance = device, random.Random(seed)
        self._tips: list[int] = []  # the last row of every branch
        for _ in range(3):
            self._prefill(_WARM_PREFILL)
            for tokens, branches in _WARM_STEPS:
                self._step(tokens, branches)

    def wave(self, wave: Wave) -> Wave:
        """The same forwards, with the seconds that they take here."""
        return wave.model_copy(update={"steps": [self._measured(step) for step in wave.steps]})

    def _measured(self, step: WaveStep) -> WaveStep:
        if step.kind == "prefill":
            seconds = self._prefill(step.tokens)
        else:
            if self._model.rows != step.context:  # a wave that was not recorded from its beginning
                self._prefill(max(step.context, 1))
            seconds = self._step(step.tokens, step.branches)
        return step.model_copy(update={"seconds": seconds})

    def _prefill(self, tokens: int) -> float:
        ids = [self._chance.randrange(self._model.vocabulary) for _ in range(tokens)]
        synchronize(self._device)
        start = time.monotonic_ns()
        self._model.truncate(0)
        self._model.extend(ids, range(-1, tokens - 1), wanted=[tokens - 1])
        self._model.keep(range(tokens))
        synchronize(self._device)
        self._tips = []
        return (time.monotonic_ns() - start) / 1e9

    def _step(self, tokens: int, branches: int) -> float:
        """As many chains as branches; a branch of one token follows the end of an earlier one, if there is one."""
        first, trunk = self._model.rows, self._model.trunk
        lengths = [tokens // branches + (number < tokens % branches) for number in range(branches)]
        parents: list[int] = []
        for number, length in enumerate(lengths):
            begins = self._tips[number] if length == 1 and number < len(self._tips) else trunk - 1
            parents += [begins, *range(first + len(parents), first + len(parents) + length - 1)] if length else []
        ends = [sum(lengths[: number + 1]) - 1 for number in range(branches) if lengths[number]]
        ids = [self._chance.randrange(self._model.vocabulary) for _ in range(tokens)]
        start = time.monotonic_ns()
        logits = self._model.extend(ids, parents, ends)
        self._read(logits.rows)
        seconds = (time.monotonic_ns() - start) / 1e9
        self._tips = [first + end for end in ends]
        return seconds

    def _read(self, rows: torch.Tensor) -> None:
        """What a wave does with the logits of its branches: pick a token within the slot's kind, look at the answer."""
        for number, row in enumerate(rows):
            token = self._masks.pick(row, _SLOTS[number % len(_SLOTS)], begun=True)
            is_finished(self._codec.decode([token] * _ANSWER))


def most_rows(waves: Sequence[Wave]) -> int:
    return max((step.context + step.tokens for wave in waves for step in wave.steps), default=1)
