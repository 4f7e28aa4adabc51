"""Seconds of a forward by its size, interpolated between samples, with the range that the samples cover.

Samples are grouped by size; a group's level is the mean of its middle, so that an outlier moves nothing and yet the
times of many forwards add up: they are late more often than early, and a median would be short. Between groups the line
is straight. What more rows before the forward cost is one slope for all sizes: the robust slope within groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

_GROUP = 3  # samples that a level is made of, where there are so many
_PREFILLS, _MOST_GROUPS = 4, 12  # of prefills hardly two have one size: groups are larger, or there are few
_OUTER = 0.1  # share of a group at either end that does not count for its level, one sample at least
_LEAST = 1e-9  # seconds: no forward takes less


@dataclass(frozen=True)
class ForwardTimes:
    """Seconds by tokens and context (rows before the forward); ``sizes`` are tokens of groups, ascending."""

    sizes: Floats
    levels: Floats  # seconds at ``centre`` rows
    slope: float  # seconds per row
    centre: float  # rows
    known_tokens: tuple[int, int]
    known_rows: tuple[int, int]  # fewest rows before a sample, most rows before and in one
    ratios: Floats  # of every sample: its seconds over the interpolated ones

    def seconds(self, tokens: npt.ArrayLike, context: npt.ArrayLike = 0) -> Floats:
        """Interpolated seconds; beyond the samples the last slope goes on (``beyond`` says where that is)."""
        x = np.asarray(tokens, dtype=np.float64)
        level = np.interp(x, self.sizes, self.levels)
        if len(self.sizes) > 1:
            half = max(len(self.sizes) // 2, 2)  # a slope over half of the groups: that of two would be noise
            level = level + self._rise(slice(-half, None)) * np.maximum(x - self.sizes[-1], 0)
            level = level - self._rise(slice(half)) * np.maximum(self.sizes[0] - x, 0)
        rows = np.asarray(context, dtype=np.float64) - self.centre
        result: Floats = np.maximum(level + self.slope * rows, _LEAST)
        return result

    def _rise(self, part: slice) -> float:
        sizes, levels = self.sizes[part], self.levels[part]
        middle = len(sizes) // 2
        run = sizes[middle:].mean() - sizes[:middle].mean()
        return max(float((levels[middle:].mean() - levels[:middle].mean()) / run), 0.0)

    def beyond(self, tokens: npt.ArrayLike, context: npt.ArrayLike = 0) -> Bools:
        """Whether a forward lies outside of what was sampled."""
        x, rows = np.asarray(tokens), np.asarray(context)
        least, most = self.known_tokens
        result: Bools = (x < least) | (x > most) | (rows < self.known_rows[0]) | (rows + x > self.known_rows[1])
        return result

    @property
    def known(self) -> str:
        """The sampled range, for people."""
        least, most = self.known_tokens
        tokens = f"{least} tokens" if least == most else f"{least} to {most} tokens"
        return f"{tokens}, with {self.known_rows[0]} to {self.known_rows[1]} rows"


def fit(tokens: Sequence[int], contexts: Sequence[int], seconds: Sequence[float]) -> ForwardTimes:
    """Times through samples, of which there must be one at least. Without any context: of prefills."""
    x, rows, y = np.asarray(tokens), np.asarray(contexts, dtype=np.float64), np.asarray(seconds, dtype=np.float64)
    centre = float(np.median(rows))
    slope = _slope(x, rows, y)
    flat = y - slope * (rows - centre)
    order = np.argsort(x, kind="stable")
    groups = _groups(x[order], _GROUP if rows.any() else max(_PREFILLS, len(x) // _MOST_GROUPS))
    sizes = np.array([_middle(x[order[group]].astype(np.float64)) for group in groups])
    levels = np.array([max(_middle(flat[order[group]]), _LEAST) for group in groups])
    known = (int(x.min()), int(x.max())), (int(rows.min()), int((rows + x).max()))
    bare = ForwardTimes(sizes, levels, slope, centre, *known, np.ones(0))
    return ForwardTimes(sizes, levels, slope, centre, *known, y / bare.seconds(x, rows))


def _middle(values: Floats) -> float:
    """The mean without the outer samples; of one or two, of all."""
    outer = max(int(len(values) * _OUTER), 1) if len(values) > 2 else 0
    return float(np.sort(values)[outer : len(values) - outer].mean())


def _groups(x: Ints, least: int) -> list[slice]:
    """Slices of sorted sizes: one size each where it has samples enough, else neighbours together."""
    groups: list[slice] = []
    start = 0
    for end in range(1, len(x) + 1):
        whole = end == len(x) or x[end] != x[end - 1]
        if whole and end - start >= least:
            groups.append(slice(start, end))
            start = end
    if start < len(x):
        groups.append(slice(start, len(x)))
    return groups


def _slope(x: Ints, rows: Floats, y: Floats) -> float:
    """Seconds per row: in each size, the medians of the samples with few and with many rows before them."""
    total = weight = 0.0
    for size in np.unique(x):
        here, there = rows[x == size], y[x == size]
        low, high = here < np.median(here), here >= np.median(here)
        if len(here) < 2 * _GROUP or not low.any():
            continue
        distance = float(np.median(here[high]) - np.median(here[low]))
        if distance > 0:
            total += len(here) * float(np.median(there[high]) - np.median(there[low])) / distance
            weight += len(here)
    return max(total / weight, 0.0) if weight else 0.0
