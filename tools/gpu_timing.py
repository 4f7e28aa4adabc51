"""Seconds of a trace's forwards on this machine, by models of random weights in the shapes of real ones.

A forward's time does not depend on the weights. Every sample is measured once, in its size, alone on its device.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from functools import partial

import torch

from oospec_async.decoding.tree import LARGEST_TREE
from oospec_async.request import Parameter
from oospec_async.sidecar.answers import is_finished
from oospec_async.sidecar.value_masks import ValueMasks
from oospec_async.target.codec import TokenizerCodec
from oospec_async.target.greedy import GreedyRule
from oospec_async.target.target import Target
from oospec_async.target.tree_model import TreeModel
from oospec_async.testing.models import random_model, tokenizer
from oospec_async.trace import PrefillSample, Trace, VerifySample, WaveStep
from tools.model_shapes import Shape

_EARLIER = 15  # tokens of the binary tree before a measured one
_KEPT = (0, 2, 6, 14)  # of it: a path of rows that do not lie side by side, as an accepted one
_WARM_CONTEXT, _WARM_TREES = 64, (1, 2, 4, 8, 16, 32, 48, 64, 1, 16, 64)
_WARM_PREFILL, _WARM_STEPS = 32, ((12, 4), (4, 4), (3, 3), (1, 1))  # tokens; tokens and branches
_SLOTS = (  # answers are read as those of slots of these kinds are, in turn
    Parameter(name="text", schema_={"type": "string"}, required=True),
    Parameter(name="count", schema_={"type": "integer"}),
)
_ANSWER = 6  # tokens of an answer that are decoded after each step


def shaped_model(shape: Shape, device: str, context: int) -> TreeModel:
    """A bfloat16 model with the sizes of a real one."""
    model = random_model(
        "qwen3",
        device=device,
        dtype=torch.bfloat16,
        std=0.02,
        context=context,
        num_hidden_layers=shape.layers,
        hidden_size=shape.hidden,
        intermediate_size=shape.intermediate,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.kv_heads,
        head_dim=shape.head_dim,
        vocab_size=shape.vocabulary,
        tie_word_embeddings=shape.tied,
    )
    return TreeModel(model)


def binary_tree(size: int) -> list[int]:
    """Parents of its nodes, the root first: as many parents as a real tree, and never a plain chain."""
    return [(node - 1) // 2 if node else -1 for node in range(size)]


class TargetClock:
    """Measures samples of a target; what is measured first warms the device up."""

    def __init__(self, shape: Shape, device: str, trace: Trace) -> None:
        timing = trace.timing
        rows = [sample.tokens for sample in timing.target_prefill]
        rows += [sample.context + sample.tokens for sample in timing.target_verify]
        longest = max(rows, default=0) + _WARM_CONTEXT + LARGEST_TREE
        self.target = Target(shaped_model(shape, device, longest), GreedyRule(frozenset()))
        self._chance = random.Random(0)
        for size in _WARM_TREES:
            self._verify(_WARM_CONTEXT, size)

    def prefill(self, sample: PrefillSample) -> PrefillSample:
        step = self.target.prefill(self._tokens(sample.tokens))
        return sample.model_copy(update={"seconds": (step.end_ns - step.start_ns) / 1e9})

    def verify(self, sample: VerifySample) -> VerifySample:
        return sample.model_copy(update={"seconds": self._verify(max(sample.context, 1), sample.tokens)})

    def _verify(self, context: int, size: int) -> float:
        """Of a tree behind ``context`` rows, the last of which are an accepted path of the tree before."""
        path: tuple[int, ...] = (0,)
        if context > len(_KEPT):
            self.target.prefill(self._tokens(context - len(_KEPT)))
            self.target.verify(path, self._tokens(_EARLIER), binary_tree(_EARLIER))
            path = _KEPT
        else:
            self.target.prefill(self._tokens(context))
        step = self.target.verify(path, self._tokens(size), binary_tree(size))
        return (step.end_ns - step.start_ns) / 1e9

    def _tokens(self, count: int) -> list[int]:
        return [self._chance.randrange(self.target.vocabulary) for _ in range(count)]


class SidecarClock:
    """Goes through the forwards of waves."""

    def __init__(self, shape: Shape, device: str, trace: Trace) -> None:
        steps = [step for request in trace.requests if request.wave is not None for step in request.wave.steps]
        longest = max((step.context + step.tokens for step in steps), default=0) + _WARM_PREFILL + LARGEST_TREE
        self._model, self._chance = shaped_model(shape, device, longest), random.Random(0)
        self._codec = TokenizerCodec(tokenizer(self._model.vocabulary))
        self._masks = ValueMasks(self._codec, self._model.vocabulary, device)
        for _ in range(3):
            self._seconds(_WARM_PREFILL, self._prefill)
            for tokens, branches in _WARM_STEPS:
                self._seconds(tokens, partial(self._step, branches=branches))

    def step(self, step: WaveStep) -> WaveStep:
        """A forward of a wave, which is measured step by step from its beginning."""
        if step.kind == "prefill":
            seconds = self._seconds(step.tokens, self._prefill)
        else:
            if self._model.rows != step.context:  # a wave that was not recorded from its beginning
                self._seconds(max(step.context, 1), self._prefill)
            seconds = self._seconds(step.tokens, partial(self._step, branches=step.branches))
        return step.model_copy(update={"seconds": seconds})

    def _seconds(self, tokens: int, forward: Callable[[list[int]], None]) -> float:
        ids = [self._chance.randrange(self._model.vocabulary) for _ in range(tokens)]
        start = time.monotonic_ns()
        forward(ids)
        return (time.monotonic_ns() - start) / 1e9

    def _prefill(self, ids: list[int]) -> None:
        self._model.truncate(0)
        logits = self._model.extend(ids, range(-1, len(ids) - 1), wanted=[len(ids) - 1])
        self._model.keep(range(len(ids)))
        logits.rows.argmax().item()  # waits for the device

    def _step(self, ids: list[int], branches: int) -> None:
        """As many chains as branches. Where they hang makes no difference to the time, so all hang at the trunk."""
        first, trunk = self._model.rows, self._model.trunk
        parents: list[int] = []
        ends: list[int] = []
        for number in range(branches):
            length = len(ids) // branches + (number < len(ids) % branches)
            parents += [trunk - 1, *range(first + len(parents), first + len(parents) + length - 1)] if length else []
            ends += [len(parents) - 1] if length else []
        for number, row in enumerate(self._model.extend(ids, parents, ends).rows):
            token = self._masks.pick(row, _SLOTS[number % len(_SLOTS)], begun=True)
            is_finished(self._codec.decode([token] * _ANSWER))
