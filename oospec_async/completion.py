"""What a request gave: its output, and how it came about."""

from __future__ import annotations

from dataclasses import dataclass, field

from oospec_async.decoding.verify import Finish
from oospec_async.toolcall import InvalidCall, ToolCall


@dataclass(frozen=True)
class Chunk:
    """Tokens committed by one round (the first chunk: by the prefill), and the text that they added.

    ``sources`` names for each token the drafter that proposed it, "" where the target did.
    """

    tokens: tuple[int, ...]
    sources: tuple[str, ...]
    pieces: tuple[str, ...]  # text of each token
    finish: Finish | None


@dataclass(frozen=True)
class HintUse:
    """The hint side of a request. Times in seconds since the request's start; None where it did not happen."""

    versions: int = 0  # hints taken from the channel
    arrival_seconds: float | None = None  # of the first one, at the poll that found it
    arrival_position: int | None = None  # output tokens committed by then
    payload_bytes: int = 0  # of the newest one
    wave_seconds: float | None = None  # None: cancelled or failed
    error: str = ""  # why the wave failed
    wave_hidden: float | None = None  # share of the wave's time during which the target worked


@dataclass(frozen=True)
class Metrics:
    """Counts in tokens, times in seconds. Nothing after the end of the output is counted."""

    prompt_tokens: int
    output_tokens: int
    rounds: int  # draft-verify steps, the prefill aside
    drafted: int
    accepted: int
    total_seconds: float  # from the request's start (tokenisation included) to its last commit
    first_token_seconds: float
    prefill_seconds: float
    decode_seconds: float  # first token to last commit
    hint: HintUse = field(default_factory=HintUse)
    reused_tokens: int = 0  # of the prompt: read for the request before, and not again

    @property
    def mean_accepted(self) -> float:
        """Mean tokens committed by a round, the target's own included."""
        return (self.output_tokens - 1) / self.rounds if self.rounds else 0.0


@dataclass(frozen=True)
class Completion:
    """``tokens`` include the token that ended the output; ``text`` does not."""

    request: str
    method: str
    text: str
    tokens: tuple[int, ...]
    sources: tuple[str, ...]
    margins: tuple[float, ...]  # of each token: by how much its logit beat the second best
    calls: tuple[ToolCall, ...]  # of functions on offer
    finish: Finish
    metrics: Metrics
    invalid_calls: tuple[InvalidCall, ...] = ()  # written as calls are, and none of a function on offer
