"""What rows say: times, counts and speedups by method. Derived from a rows file alone; knows no model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import TypeVar

from oospec_async.console.figures import distribution, known_mean, known_median, ratios, tokens_per_round
from oospec_async.errors import OospecError
from tools.benchmark.report.differences import Difference, differences
from tools.benchmark.report.summary import Category, Figure, Hints, MethodFigures, Pair, Ratios, Summary
from tools.benchmark.rows import Contents, Header, Measured

REFERENCE, BASELINE = "generate", "ar"  # whose ids count, and whose times; the first method where they are not there
PLAIN = (REFERENCE, BASELINE)  # the faster of them is what a user has today
TOOLSPEC, OOSPEC, PERFECT = "toolspec", "oospec", "oospec@perfect"
_TIMES = ("total_seconds", "first_token_seconds", "prefill_seconds", "decode_seconds", "host_seconds")

Value = Callable[[Measured], float]
T = TypeVar("T")


class _Rows:
    """Rows of the runs and requests that are compared."""

    def __init__(self, contents: Contents) -> None:
        header, rows = contents.header, contents.rows
        requests, methods = list(header.categories), header.methods
        complete = [
            run
            for run in sorted({row.run for row in rows.values()})
            if all((run, request, method) in rows for request in requests for method in methods)
        ]
        self.complete = len(complete)
        self.runs = complete or [0]
        seen = [r for r in requests if all((run, r, method) in rows for run in self.runs for method in methods)]
        served = [
            r for r in seen if all(rows[run, r, method].measured for run in self.runs for method in methods)
        ]  # fmt: skip
        if not served:
            failed = next((row for row in rows.values() if row.error), None)
            reason = f"; the first error: run {failed.run}, {failed.method}: {failed.error}" if failed else ""
            said = f"no request has been served by every method yet, so there is nothing to compare{reason}"
            raise OospecError(" ".join(said.split()))
        self.requests, self.left_out = served, len(seen) - len(served)
        self._rows = rows

    def one(self, run: int, request: str, method: str) -> Measured:
        measured = self._rows[run, request, method].measured
        assert measured is not None
        return measured

    def of(self, method: str, requests: Sequence[str] | None = None) -> list[list[Measured]]:
        """By run, then by request."""
        return [[self.one(run, r, method) for r in requests or self.requests] for run in self.runs]

    def sums(self, method: str, value: Value, requests: Sequence[str] | None = None) -> list[float]:
        return [sum(map(value, each)) for each in self.of(method, requests)]


def summarise(contents: Contents) -> Summary:
    """Raises OospecError if no request has been served by every method."""
    rows, header = _Rows(contents), contents.header
    methods = header.methods
    reference = REFERENCE if REFERENCE in methods else methods[0]
    baseline = BASELINE if BASELINE in methods else reference
    errors = [row for row in contents.rows.values() if row.error]
    failed = Counter(row.method for row in errors)
    unlike = differences(contents, reference)
    figures = {
        method: _method(rows, header, method, baseline, failed[method], unlike.get(method, [])) for method in methods
    }
    return Summary(
        header=header,
        runs=rows.complete,
        requests=len(rows.requests),
        left_out=rows.left_out,
        reference=reference,
        baseline=baseline,
        methods=figures,
        oospec_over_toolspec=_pair(rows, TOOLSPEC, OOSPEC) if {TOOLSPEC, OOSPEC} <= set(methods) else None,
        rounds_saved=_rounds_saved(figures),
        errors=errors,
    )


def _method(
    rows: _Rows, header: Header, method: str, baseline: str, errors: int, unlike: list[Difference]
) -> MethodFigures:
    first = rows.of(method)[0]
    rounds = rows.sums(method, lambda m: m.rounds)
    tokens, prefilled = rows.sums(method, lambda m: len(m.tokens)), rows.sums(method, lambda m: m.first_tokens)
    decode = _speedup(rows, [baseline], method, _decode)
    plain = [name for name in PLAIN if name in header.methods]
    return MethodFigures(
        times={name: _time(rows, method, name) for name in _TIMES},
        tokens=sum(len(m.tokens) for m in first),
        rounds=median(rounds),
        mean_accepted=tokens_per_round(sum(tokens), sum(prefilled), sum(rounds)),
        drafted=median(rows.sums(method, lambda m: m.drafted)),
        sources=dict(sum((Counter(m.sources) for m in first), Counter[str]())),
        reused_tokens=sum(m.reused_tokens for m in first),
        total_speedup=_sure(_speedup(rows, [baseline], method, _total)),
        decode_speedup=decode,
        decode_speedup_over_plain=_speedup(rows, plain, method, _decode) if plain else None,
        total_ratios=_sure(_ratios(rows, baseline, method, _total)),
        decode_ratios=_ratios(rows, baseline, method, _decode),
        hints=_hints([m for run in rows.of(method) for m in run]),
        categories=_categories(rows, header, method, baseline),
        errors=errors,
        differences=unlike,
    )


def _total(measured: Measured) -> float:
    return measured.total_seconds


def _decode(measured: Measured) -> float:
    return measured.decode_seconds


def _time(rows: _Rows, method: str, name: str) -> Figure | None:
    if any(getattr(m, name) is None for run in rows.of(method) for m in run):
        return None
    return _figure(rows.sums(method, lambda m: getattr(m, name)))


def _figure(values: Sequence[float]) -> Figure:
    middle, low, high = median(values), min(values), max(values)
    return Figure(middle, low, high, spread=(high - low) / middle if middle else 0.0)


def _speedup(
    rows: _Rows, baselines: Sequence[str], method: str, value: Value, requests: Sequence[str] | None = None
) -> Figure | None:
    """The fastest baseline's sum over the method's, run by run; None where there is no time to divide by."""
    best = [min(sums) for sums in zip(*(rows.sums(name, value, requests) for name in baselines), strict=True)]
    found = ratios(best, rows.sums(method, value, requests))
    return _figure(found) if len(found) == len(best) else None


def _ratios(rows: _Rows, baseline: str, method: str, value: Value) -> Ratios | None:
    """Request by request, the medians over runs."""

    def medians(name: str) -> list[float]:
        return [median(value(rows.one(run, request, name)) for run in rows.runs) for request in rows.requests]

    found = ratios(medians(baseline), medians(method))
    if not found:
        return None
    percentiles = distribution(found)
    return Ratios(percentiles["p05"], percentiles["p50"], percentiles["p95"])


def _hints(measured: Sequence[Measured]) -> Hints | None:
    hints = [m.hint for m in measured if m.hint is not None]
    if not hints:
        return None
    arrived = [hint for hint in hints if hint.versions]
    return Hints(
        payload_bytes=known_mean(hint.payload_bytes for hint in arrived),
        arrived=len(arrived) / len(measured),
        whole_at_first_round=sum(hint.whole_at_first_round for hint in hints) / len(measured),
        arrival_seconds=known_median(hint.arrival_seconds for hint in arrived),
        arrival_position=known_median(hint.arrival_position for hint in arrived),
        wave_seconds=known_mean(hint.wave_seconds for hint in hints),
    )


def _categories(rows: _Rows, header: Header, method: str, baseline: str) -> dict[str, Category]:
    members: dict[str, list[str]] = {}
    for request in rows.requests:
        members.setdefault(header.categories[request], []).append(request)
    return {
        name: Category(
            requests=len(requests),
            rounds=median(rows.sums(method, lambda m: m.rounds, requests)),
            total_speedup=_sure(_speedup(rows, [baseline], method, _total, requests)),
            decode_speedup=_speedup(rows, [baseline], method, _decode, requests),
        )
        for name, requests in members.items()
    }


def _pair(rows: _Rows, one: str, other: str) -> Pair:
    return Pair(
        total_speedup=_sure(_speedup(rows, [one], other, _total)),
        decode_speedup=_speedup(rows, [one], other, _decode),
        total_ratios=_sure(_ratios(rows, one, other, _total)),
        decode_ratios=_ratios(rows, one, other, _decode),
    )


def _rounds_saved(figures: Mapping[str, MethodFigures]) -> float | None:
    if not {TOOLSPEC, OOSPEC, PERFECT} <= figures.keys():
        return None
    without, real, perfect = (figures[name].rounds for name in (TOOLSPEC, OOSPEC, PERFECT))
    return (without - real) / (without - perfect) if without > perfect else None


def _sure(found: T | None) -> T:
    assert found is not None  # a total time is never 0
    return found
