"""What the core needs to know of one forward of the target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from oospec_async.decoding.memory import State


@dataclass(frozen=True)
class TargetForward:
    """Per node the next token, its likely successors (best first), and the margin of the choice (logits).

    ``state`` is the last hidden state of the prompt, ``reused`` how many of its tokens were not read again (prefill
    only). Times are monotonic nanoseconds on the executor.
    """

    predicted: Sequence[int]
    successors: Sequence[Sequence[int]]
    margins: Sequence[float]
    start_ns: int
    end_ns: int
    state: State | None = None
    reused: int = 0
