"""A target and prompts that look up what was written before: they stand in for a model."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from host_bench.cases import Case
from oospec_async.decoding.forward import Step
from oospec_async.decoding.tree import VerifyCurve
from oospec_async.dialects.dialect import NAMED, Dialect
from oospec_async.request import Request


class ScriptedTarget:
    """Gives the outputs of ``cases`` in turn. Its forwards cost what it takes to look tokens up."""

    context = 1 << 20
    vocabulary = 1 << 20

    def __init__(self, given: Sequence[Case], end: int) -> None:
        self.end_tokens = frozenset({end})
        self._outputs = iter([[*case.output[:-1], end] for case in given])
        self._output: list[int] = []
        self._committed = 0
        self._random = np.random.default_rng(0)

    def prefill(self, prompt: Sequence[int], *, reuse: bool = False) -> Step:
        start = time.monotonic_ns()
        self._output, self._committed = next(self._outputs), 0
        state = self._random.standard_normal(896, dtype=np.float32)
        return self._step([0], start, state)

    def verify(self, path: Sequence[int], tokens: Sequence[int], parents: Sequence[int]) -> Step:
        start = time.monotonic_ns()
        self._committed += len(path)
        places = [self._committed]  # of each node: how much of the output is said with it; -1 after a wrong token
        for token, parent in zip(tokens[1:], parents[1:], strict=True):
            place = places[parent]
            places.append(place + 1 if place >= 0 and self._at(place) == token else -1)
        return self._step([place - self._committed if place >= 0 else -1 for place in places], start, None)

    def calibrate(self) -> VerifyCurve:
        return VerifyCurve()

    def _at(self, place: int) -> int:
        return self._output[place] if place < len(self._output) else 0

    def _step(self, ahead: list[int], start: int, state: Any) -> Step:
        predicted = [self._at(self._committed + n) if n >= 0 else 0 for n in ahead]
        successors = [[token, *range(1, 8)] for token in predicted]
        return Step(predicted, successors, [1.0] * len(ahead), start, time.monotonic_ns(), state)


class GivenPrompts:
    dialects: Sequence[Dialect] = (NAMED["hermes"], NAMED["fenced"])

    def __init__(self, given: Sequence[Case]) -> None:
        self._prompts = {case.request.id: case.prompt for case in given}

    def ids(self, request: Request) -> list[int]:
        return self._prompts[request.id]
