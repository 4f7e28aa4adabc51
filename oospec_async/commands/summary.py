"""Figures of a run by method: totals over the same outputs, never means of ratios."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from oospec_async.completion import Completion
from oospec_async.console.figures import known_mean, known_median, ratio, ratios, tokens_per_round


@dataclass(frozen=True)
class Difference:
    """An output that is not the first method's: where it departs, and how close the call was there (logits)."""

    request: str
    position: int
    margin: float


@dataclass(frozen=True)
class Summary:
    """One method. Times in seconds; None where there is nothing to say (no sidecar, no baseline)."""

    method: str
    requests: int
    total_seconds: float
    decode_seconds: float
    first_token_seconds: float  # mean
    prefill_seconds: float  # mean
    tokens: int
    rounds: int
    mean_accepted: float  # tokens per round, pooled
    speedup: float | None  # total time of the first method over this one's
    decode_speedup: float | None
    decode_speedups: tuple[float, ...]  # per request
    hint_arrival_seconds: float | None  # median
    hint_position: float | None  # median, output tokens
    wave_seconds: float | None  # mean
    wave_hidden: float | None  # mean
    payload_bytes: float | None  # mean
    differences: tuple[Difference, ...]


def summarise(completions: Sequence[Completion]) -> list[Summary]:
    """One Summary per method, in the order of their first appearance; speedups are over the first one."""
    methods = list(dict.fromkeys(completion.method for completion in completions))
    by_method = {method: [c for c in completions if c.method == method] for method in methods}
    baseline = by_method[methods[0]] if methods else []
    return [_summary(method, runs, baseline) for method, runs in by_method.items()]


def _summary(method: str, runs: Sequence[Completion], baseline: Sequence[Completion]) -> Summary:
    first = {completion.request: completion for completion in baseline}
    pairs = [(first[c.request], c) for c in runs if c.request in first]
    compared = runs is not baseline and len(pairs) == len(runs)
    metrics, before = [c.metrics for c in runs], [b.metrics for b, _ in pairs]
    total, decode = sum(m.total_seconds for m in metrics), sum(m.decode_seconds for m in metrics)
    rounds, tokens = sum(m.rounds for m in metrics), sum(m.output_tokens for m in metrics)
    hints = [m.hint for m in metrics if m.hint.versions]
    waves = [m.hint for m in metrics if m.hint.wave_seconds is not None]
    return Summary(
        method=method,
        requests=len(runs),
        total_seconds=total,
        decode_seconds=decode,
        first_token_seconds=fmean(m.first_token_seconds for m in metrics),
        prefill_seconds=fmean(m.prefill_seconds for m in metrics),
        tokens=tokens,
        rounds=rounds,
        mean_accepted=tokens_per_round(tokens, len(runs), rounds),
        speedup=ratio(sum(b.total_seconds for b in before), total) if compared else None,
        decode_speedup=ratio(sum(b.decode_seconds for b in before), decode) if compared else None,
        decode_speedups=tuple(ratios((b.decode_seconds for b in before), (c.metrics.decode_seconds for _, c in pairs))),
        hint_arrival_seconds=known_median(h.arrival_seconds for h in hints),
        hint_position=known_median(h.arrival_position for h in hints),
        wave_seconds=known_mean(h.wave_seconds for h in waves),
        wave_hidden=known_mean(h.wave_hidden for h in waves),
        payload_bytes=known_mean(h.payload_bytes for h in hints),
        differences=tuple(d for b, c in pairs if (d := _difference(b, c)) is not None),
    )


def departure(tokens: Sequence[int], reference: Sequence[int]) -> int | None:
    """The first position where ids differ, or where one of the outputs ends; None if they are equal."""
    pairs = zip(tokens, reference, strict=False)
    shorter = min(len(tokens), len(reference))
    position = next((i for i, (a, b) in enumerate(pairs) if a != b), shorter)
    return None if len(tokens) == len(reference) == position else position


def _difference(reference: Completion, other: Completion) -> Difference | None:
    position = departure(other.tokens, reference.tokens)
    if position is None:
        return None
    margins = reference.margins if position < len(reference.margins) else other.margins
    return Difference(other.request, position, margins[position])
