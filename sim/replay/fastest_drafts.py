"""The cheapest way to commit an output with drafts that are always right: dynamic programming over its positions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sim.costs.forward_times import Floats


def fastest_drafts(verify: Floats, commit: Sequence[int], draft: Sequence[int]) -> tuple[list[int], list[int]]:
    """Drafted and accepted tokens at every position, so that from each the rest of the output takes the least time.

    ``verify[i, k]``: ns of a round that drafts k tokens when i + 1 are committed, shape (output tokens - 1, most
    drafted + 1); ``commit`` and ``draft``: ns as in a timetable. A draft may be longer than what is accepted where the
    larger tree takes less time. At equal times the longer draft is taken: fewer rounds.
    """
    count, sizes = verify.shape
    # The fastest tree that holds so many right tokens, and its size.
    fastest = np.minimum.accumulate(verify[:, ::-1], axis=1)[:, ::-1]
    after = np.zeros(count + 1)  # from the end of a forward after which i + 1 tokens are committed, ns
    after[count] = commit[count]
    drafted, accepted = [0] * count, [0] * count
    for at in range(count - 1, -1, -1):
        most = min(sizes, count - at)
        options = fastest[at, :most] + after[at + 1 : at + 1 + most]
        accepted[at] = most - 1 - int(np.argmin(options[::-1]))
        drafted[at] = accepted[at] + int(np.argmin(verify[at, accepted[at] :]))
        after[at] = commit[at] + draft[at] + float(options[accepted[at]])
    return drafted, accepted
