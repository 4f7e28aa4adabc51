"""Modelled seconds: rooflines for forwards, stated constants for the rest, and a small seeded jitter."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

from oospec_async.decoding.tree import VerifyCurve
from oospec_async.sidecar.wave import Progress
from oospec_async.trace import (
    HostSample,
    LinkSample,
    PrefillSample,
    Timing,
    VerifySample,
    Wave,
    WaveStep,
)
from tools.trace_models.roofline import Roofline

JITTER = 0.02  # sigma of the logarithm of a forward's time
BEFORE = 3e-3  # from a request's arrival to its prefill: chat template, tokenisation, sending the wave
HAND_OVER = 0.5e-3  # from the start of the prefill until the sidecar's process begins the wave
HOST, HOST_JITTER = (
    0.8e-3,
    0.35,
)  # median and sigma; an earlier version's tools/bench_host.py measured 0.8 ms (99th percentile 1.8 ms) on a CPU
WAVE_HOST, WAVE_HOST_BRANCH = 0.5e-3, 0.1e-3  # of the sidecar's process in a step, and for every branch
LINK, LINK_BANDWIDTH, LINK_JITTER = 20e-6, 1e9, 0.1  # shared memory: writing, reading and parsing a message
_CURVE_SIZES, _CURVE_CONTEXT = (1, 2, 4, 8, 16, 32, 48), 256  # as a target is calibrated at start
_VERIFY_SIZES = (1, 2, 4, 8, 16, 24, 32, 40, 49)  # the largest tree has 48 drafted nodes
_HOST_SAMPLES = 4  # per request
_LINK_BYTES = (0, 64, 128, 256, 512, 1024, 2048, 4096, 8192)
_DIGITS = 7  # of seconds in the trace


def curve(target: Roofline) -> VerifyCurve:
    """The budget curve: verify time by tree size, without jitter."""
    return VerifyCurve(tuple((n, round(target.seconds(n, _CURVE_CONTEXT, n), _DIGITS)) for n in _CURVE_SIZES))


@dataclass(frozen=True)
class Clock:
    """Draws the times of one request. Adding a request to a trace changes no other one's."""

    target: Roofline
    sidecar: Roofline
    chance: random.Random

    def _drawn(self, seconds: float, sigma: float) -> float:
        return round(seconds * math.exp(self.chance.gauss(0.0, sigma)), _DIGITS)

    def before(self) -> float:
        return self._drawn(BEFORE, HOST_JITTER)

    def wave(self, forwards: Sequence[Progress]) -> Wave:
        steps = []
        for forward in forwards:
            seconds = self.sidecar.seconds(forward.tokens, forward.context, max(forward.branches, 1))
            steps.append(
                WaveStep(
                    kind="prefill" if forward.kind == "prefill" else "step",
                    tokens=forward.tokens,
                    branches=forward.branches,
                    context=forward.context,
                    seconds=self._drawn(seconds + WAVE_HOST + WAVE_HOST_BRANCH * forward.branches, JITTER),
                    publishes=forward.hint.version if forward.hint is not None else None,
                )
            )
        return Wave(start=self._drawn(HAND_OVER, HOST_JITTER), steps=steps)

    def sample(self, timing: Timing, request: str, prompt: int, output: int, wave: Wave) -> None:
        """Add a request's samples: its own prefill and wave, trees of all sizes at places of its output, host times."""
        prefill = self._drawn(self.target.seconds(prompt, 0, 1), JITTER)
        timing.target_prefill.append(PrefillSample(request=request, tokens=prompt, seconds=prefill))
        for tokens in _VERIFY_SIZES:
            context = prompt + self.chance.randrange(output)
            seconds = self._drawn(self.target.seconds(tokens, context, tokens), JITTER)
            sample = VerifySample(request=request, tokens=tokens, context=context, seconds=seconds)
            timing.target_verify.append(sample)
        timing.add_wave(request, wave)
        for _ in range(_HOST_SAMPLES):
            timing.host.append(HostSample(request=request, seconds=self._drawn(HOST, HOST_JITTER)))


def link_samples(chance: random.Random) -> list[LinkSample]:
    return [
        LinkSample(
            bytes=size,
            seconds=round((LINK + size / LINK_BANDWIDTH) * math.exp(chance.gauss(0.0, LINK_JITTER)), 9),
        )
        for size in _LINK_BYTES
        for _ in range(4)
    ]


LINES = {
    "host timing": (
        f"constants with a lognormal jitter of sigma {HOST_JITTER}, seeded: between two forwards of the target a "
        f"median of {HOST * 1e3:.1f} ms (tools/bench_host.py on a CPU gives a median of 0.8 ms and a 99th percentile "
        f"of 1.8 ms), {BEFORE * 1e3:.0f} ms before a prefill, {HAND_OVER * 1e3:.1f} ms until the sidecar begins; "
        f"link: shared memory, {LINK * 1e6:.0f} us and {LINK_BANDWIDTH / 1e9:.0f} GB/s; all of these are assumptions"
    ),
    "jitter": f"jitter: lognormal, sigma {JITTER}, seeded",
    "wave": f"{WAVE_HOST * 1e3:.1f} ms of host time a step and {WAVE_HOST_BRANCH * 1e3:.1f} ms a branch (assumptions)",
}
