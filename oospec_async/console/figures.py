"""The arithmetic of figures in print: speedups are total time over total time, never means of ratios."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import fmean, median

import numpy as np

PERCENTILES = {"p05": 5, "p50": 50, "p95": 95, "min": 0, "max": 100}
_NANOSECOND = 1e-9  # below it a time is no time, and its ratio no number


def ratio(before: float, after: float) -> float | None:
    """How many times as fast ``after`` is, both in seconds; None where there is no time to divide by."""
    return before / after if after >= _NANOSECOND else None


def ratios(before: Iterable[float], after: Iterable[float]) -> list[float]:
    """Of single requests; those that have no ratio are left out."""
    pairs = zip(before, after, strict=True)
    return [found for pair in pairs if (found := ratio(*pair)) is not None]


def distribution(values: Sequence[float]) -> dict[str, float]:
    """Mean, p05, p50, p95, min and max of at least one value."""
    points = np.percentile(values, list(PERCENTILES.values()))
    return {"mean": float(np.mean(values))} | dict(zip(PERCENTILES, points.tolist(), strict=True))


def tokens_per_round(tokens: float, first: float, rounds: float) -> float:
    """Mean tokens that a round committed; ``first``: those of ``tokens`` that prefills gave. 0 without a round."""
    return (tokens - first) / rounds if rounds else 0.0


def known_mean(values: Iterable[float | None]) -> float | None:
    """Of those that are not None; None where there is none."""
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def known_median(values: Iterable[float | None]) -> float | None:
    """Of those that are not None; None where there is none."""
    known = [value for value in values if value is not None]
    return float(median(known)) if known else None
