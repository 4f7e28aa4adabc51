"""Times of a request, as recorded and as simulated, and how far they are apart."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median

import numpy as np

from oospec_async.trace import RequestTrace
from sim.costs.nanoseconds import NS
from sim.costs.recording import Recording
from sim.replay.replay import Served


@dataclass(frozen=True)
class Times:
    """Of one request, in seconds; hints since the start of the prefill, None where there was none."""

    prefill: float
    rounds: float  # from the end of the prefill to the end of the last verify, host time between included
    first_hint: float | None  # published
    last_hint: float | None
    total: float  # from the request to the end of the last verify


@dataclass(frozen=True)
class Errors:
    """Of one part over requests: relative errors of the predictions, signed means and absolute percentiles."""

    part: str
    requests: int
    recorded: float  # mean seconds
    predicted: float
    median: float  # of absolute relative errors of single requests
    p95: float

    @property
    def of_mean(self) -> float:
        return self.predicted / self.recorded - 1 if self.recorded else 0.0


def recorded_prefills(recording: Recording) -> dict[tuple[str, str], float]:
    """Seconds by request and method. Samples name requests only; they are in the order of the request's runs."""
    samples, methods = defaultdict(list), defaultdict(list)
    for sample in recording.trace.timing.target_prefill:
        samples[sample.request].append(sample.seconds)
    for run in recording.trace.requests:
        methods[run.request].append(run.method)
    found = {}
    for request, names in methods.items():
        seconds = samples[request]
        each = seconds if len(seconds) == len(names) else [median(seconds) if seconds else 0.0] * len(names)
        found.update({(request, name): value for name, value in zip(names, each, strict=True)})
    return found


def recorded(run: RequestTrace, prefill: float) -> Times:
    end = run.rounds[-1].start + run.rounds[-1].seconds
    published = [publish.seconds for publish in run.publishes]
    return Times(
        prefill=prefill,
        rounds=end - prefill,
        first_hint=published[0] if published else None,
        last_hint=published[-1] if published else None,
        total=run.before + end,
    )


def simulated(served: Served) -> Times:
    zero, end = served.prefill[0], served.rounds[-1].end if served.rounds else served.prefill[1]
    # Of a wave that was cut off, when the rest would have come: a recorder lets waves end.
    hints, now = [], 0
    if served.wave is not None and served.wave.spans:
        now = served.wave.spans[0][0]
        for index, forward in enumerate(served.wave.forwards):
            now = served.wave.spans[index][1] if index < len(served.wave.spans) else now + served.wave.ns[index]
            hints += [(now - zero) / NS] if forward.publishes else []
    return Times(
        prefill=(served.prefill[1] - zero) / NS,
        rounds=(end - served.prefill[1]) / NS,
        first_hint=hints[0] if hints else None,
        last_hint=hints[-1] if hints else None,
        total=(end - served.start) / NS,
    )


def errors(pairs: Sequence[tuple[Times, Times]]) -> list[Errors]:
    """Of every part, over the requests that have it in both; recorded first."""
    found = []
    for part in ("prefill", "rounds", "first_hint", "last_hint", "total"):
        both = [(getattr(a, part), getattr(b, part)) for a, b in pairs]
        known = [(a, b) for a, b in both if a is not None and b is not None and a > 0]
        if known:
            relative = [abs(b / a - 1) for a, b in known]
            means = fmean(a for a, _ in known), fmean(b for _, b in known)
            spread = float(np.percentile(relative, 50)), float(np.percentile(relative, 95))
            found.append(Errors(part.replace("_", " "), len(known), *means, *spread))
    return found
