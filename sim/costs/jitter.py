"""Scatter as the samples have it: every time is interpolated, times a ratio that some sample had."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np

from sim.costs.forward_times import Floats


@dataclass(frozen=True)
class Noise:
    """Of one request: uniform draws in [0, 1), which pick samples. By output position where there is one."""

    prefill: Floats
    verify: Floats
    host: Floats
    link: Floats


@dataclass(frozen=True)
class Jitter:
    """The same seed, request and output position give every method the same draw: all have equal luck.

    Every kind of time has a stream of its own, so that no draw depends on how long an output is, or on what was drawn
    before.
    """

    seed: int

    def of(self, request: str, output: int) -> Noise:
        """``output``: the request's output tokens, for which there are draws."""
        return Noise(
            prefill=self._draw(request, "prefill", 1),
            verify=self._draw(request, "verify", output),
            host=self._draw(request, "host", output),
            link=self._draw(request, "link", 1),
        )

    def wave(self, request: str, forwards: int) -> Floats:
        """For the forwards of a request's wave."""
        return self._draw(request, "wave", forwards)

    def _draw(self, request: str, what: str, count: int) -> Floats:
        keys = (zlib.crc32(text.encode("utf-8", "surrogatepass")) for text in (request, what))
        return np.random.default_rng([self.seed, *keys]).random(count)


def pick(samples: Floats, draws: Floats) -> Floats:
    """The samples that uniform draws pick."""
    picked: Floats = samples[(draws * len(samples)).astype(np.int64)]
    return picked
