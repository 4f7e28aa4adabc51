"""From seconds to the whole nanoseconds in which simulated time is counted."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from oospec_async.errors import OospecError

NS = 1_000_000_000
_LONGEST = 1e9  # seconds; far more would not fit into 64 bits of nanoseconds


def forward_ns(seconds: npt.ArrayLike) -> list[int]:
    """Whole nanoseconds of forwards, at least one each: what a forward gives always comes after it began."""
    return [max(ns, 1) for ns in whole_ns(seconds)]


def whole_ns(seconds: npt.ArrayLike) -> list[int]:
    """Whole nanoseconds, rounded. Raises OospecError for what only a wild extrapolation can give: more than 10^9 s."""
    values = np.atleast_1d(np.asarray(seconds, dtype=np.float64))
    if len(values) and not float(values.max()) <= _LONGEST:
        raise OospecError(f"timing: a forward would take {values.max():.3g} s; the trace's samples cannot be right")
    rounded: list[int] = np.rint(values * NS).astype(np.int64).tolist()
    return rounded
