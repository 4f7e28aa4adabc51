"""What a benchmark's rows say, as values."""

from __future__ import annotations

from dataclasses import dataclass

from tools.benchmark.report.differences import Difference
from tools.benchmark.rows import Header, Row


@dataclass(frozen=True)
class Figure:
    """A figure over runs."""

    median: float
    low: float
    high: float
    spread: float  # (highest - lowest) / median


@dataclass(frozen=True)
class Ratios:
    """Percentiles of ratios by request."""

    p05: float
    p50: float
    p95: float


@dataclass(frozen=True)
class Hints:
    """``payload_bytes``: mean of the hints that arrived. Shares are of all requests, over all runs."""

    payload_bytes: float | None
    arrived: float
    whole_at_first_round: float
    arrival_seconds: float | None  # median
    arrival_position: float | None  # median, output tokens
    wave_seconds: float | None  # mean


@dataclass(frozen=True)
class Category:
    requests: int
    rounds: float
    total_speedup: Figure
    decode_speedup: Figure | None


@dataclass(frozen=True)
class MethodFigures:
    """Times are sums over the requests of a run, in seconds; None where rows do not tell.

    Speedups are the baseline's sum over this method's, of the same run. ``ratios``: the same by request, of medians.
    """

    times: dict[str, Figure | None]
    tokens: int
    rounds: float  # median over runs
    mean_accepted: float
    drafted: float
    sources: dict[str, int]  # of the first run
    reused_tokens: int
    total_speedup: Figure
    decode_speedup: Figure | None
    decode_speedup_over_plain: Figure | None  # over the faster of generate and ar
    total_ratios: Ratios
    decode_ratios: Ratios | None
    hints: Hints | None
    categories: dict[str, Category]
    errors: int
    differences: list[Difference]


@dataclass(frozen=True)
class Pair:
    """One method's speedups over another one."""

    total_speedup: Figure
    decode_speedup: Figure | None
    total_ratios: Ratios
    decode_ratios: Ratios | None


@dataclass(frozen=True)
class Summary:
    header: Header
    runs: int  # complete ones; 0: the first is not complete, and figures are of what is there
    requests: int  # that all figures are of
    left_out: int  # could not be served by every method in every run
    reference: str
    baseline: str
    methods: dict[str, MethodFigures]
    oospec_over_toolspec: Pair | None
    rounds_saved: float | None  # by the real hint, of those that a perfect one saves
    errors: list[Row]

    @property
    def over_runs(self) -> str:
        """What figures are medians of, in words."""
        if not self.runs:
            return "a first run that is not complete"
        runs = "one run" if self.runs == 1 else f"{self.runs} interleaved runs"
        return runs + (f" (of {self.header.runs} asked for)" if self.runs < self.header.runs else "")

    @property
    def exit_code(self) -> int:
        """1 if a row is an error, or in float32 an output is another one."""
        exact = self.header.fingerprint.dtype == "float32"
        return int(bool(self.errors) or (exact and any(each.differences for each in self.methods.values())))
