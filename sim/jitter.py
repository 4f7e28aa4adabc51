"""Scatter as the samples have it: every time is interpolated, times a ratio that some sample had."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np

from sim.surface import Floats


@dataclass(frozen=True)
class Noise:
    """Of one request: uniform draws in [0, 1), which pick samples. By output position where there is one."""

    prefill: Floats
    verify: Floats
    host: Floats
    link: Floats


class Jitter:
    """The same seed, request and output position give every method the same draw: all have equal luck."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._noises: dict[str, Noise] = {}

    def of(self, request: str, output: int) -> Noise:
        """``output``: the request's output tokens."""
        if request not in self._noises:
            drawn = self._generator(request, 0).random(2 * output + 2)
            self._noises[request] = Noise(drawn[:1], drawn[2 : output + 2], drawn[output + 2 :], drawn[1:2])
        return self._noises[request]

    def wave(self, request: str, forwards: int) -> Floats:
        """For the forwards of a request's wave."""
        return self._generator(request, 1).random(forwards)

    def _generator(self, request: str, what: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, zlib.crc32(request.encode("utf-8", "surrogatepass")), what])


def pick(samples: Floats, draws: Floats) -> Floats:
    """The samples that uniform draws pick."""
    picked: Floats = samples[(draws * len(samples)).astype(np.int64)]
    return picked
