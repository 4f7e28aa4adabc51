"""The summary for people, and for programs."""

from __future__ import annotations

from dataclasses import asdict

from pydantic_core import to_json

from oospec_async.console.command import visible
from oospec_async.console.output import stdout
from oospec_async.console.table import Table, cell, print_table
from tools.benchmark.machine import measured_on
from tools.benchmark.report.figures import OOSPEC, TOOLSPEC
from tools.benchmark.report.summary import Figure, Ratios, Summary

_MOST_ROWS = 12  # of differing outputs that are shown by method


def json_of(summary: Summary) -> str:
    header = summary.header
    about = {"format": "oospec-bench-summary/1", "measured_on": header.fingerprint.model_dump(), "date": header.date}
    errors = [row.model_dump(exclude={"measured"}) for row in summary.errors]
    figures = asdict(summary) | {"errors": errors}
    del figures["header"]
    return to_json(about | figures, indent=1, inf_nan_mode="null").decode()


def show(summary: Summary) -> None:
    """The tables on stdout, and below them what stands behind them."""
    tables = [_times(summary), _speedups(summary)]
    if any(each.hints for each in summary.methods.values()):
        tables.append(_hints(summary))
    if len(set(summary.header.categories.values())) > 1:
        tables.append(_categories(summary))
    console = stdout()
    for table in tables:
        print_table(console, table)
    for line in _lines(summary):
        print(visible(line))


def _times(summary: Summary) -> Table:
    heads = ["method", "total", "first token", "prefill", "decode", "host", "tokens", "rounds", "per round", "same ids"]
    rows = []
    for name, each in summary.methods.items():
        unlike = len({difference.request for difference in each.differences})
        times = (each.times[f"{part}_seconds"] for part in ("total", "first_token", "prefill", "decode", "host"))
        counts = (str(each.tokens), f"{each.rounds:.0f}", f"{each.mean_accepted:.2f}")
        rows.append([name, *map(_seconds, times), *counts, f"all but {unlike}" if unlike else "all"])
    spread = f"median of {summary.over_runs}, ± half the distance of the extremes"
    return Table(f"Seconds for {summary.requests} requests: {spread}", heads, rows)


def _speedups(summary: Summary) -> Table:
    heads = ["method", "total", "from–to", "decode", "from–to", "over the faster of generate, ar: decode"]
    heads += ["by request: total", "by request: decode"]
    rows = [
        [
            name,
            *_speedup(each.total_speedup),
            *_speedup(each.decode_speedup),
            _speedup(each.decode_speedup_over_plain)[0],
            _ratios(each.total_ratios),
            _ratios(each.decode_ratios),
        ]
        for name, each in summary.methods.items()
    ]
    about = "total time over total time, of the same run; by request p05/p50/p95"
    return Table(f"Speedup over {summary.baseline}: {about}", heads, rows)


def _hints(summary: Summary) -> Table:
    heads = ["method", "arrived", "whole before round 1", "after s", "at token", "payload B", "wave s"]
    rows = [
        [
            name,
            f"{hints.arrived:.0%}",
            f"{hints.whole_at_first_round:.0%}",
            cell(hints.arrival_seconds, "{:.2f}"),
            cell(hints.arrival_position, "{:.0f}"),
            cell(hints.payload_bytes, "{:.0f}"),
            cell(hints.wave_seconds, "{:.2f}"),
        ]
        for name, each in summary.methods.items()
        if (hints := each.hints) is not None
    ]
    return Table("Hints", heads, rows)


def _categories(summary: Summary) -> Table:
    names = list(dict.fromkeys(summary.header.categories.values()))
    rows = []
    for method, each in summary.methods.items():
        cells = []
        for name in names:
            found = each.categories.get(name)
            decode = f" ({found.decode_speedup.median:.2f}×)" if found and found.decode_speedup else ""
            cells.append(f"{found.total_speedup.median:.2f}×{decode}" if found else "")
        rows.append([method, *cells])
    heads = ["method", *(f"{name} ({_count(summary, name)})" for name in names)]
    return Table(f"By category: speedup over {summary.baseline}, total (decode)", heads, rows)


def _count(summary: Summary, category: str) -> int:
    found = next(iter(summary.methods.values())).categories.get(category)
    return found.requests if found else 0


def _lines(summary: Summary) -> list[str]:
    lines = []
    if pair := summary.oospec_over_toolspec:
        total, decode = pair.total_speedup, pair.decode_speedup
        said = _said(total, "in total") + (f", {_said(decode, 'in the decode')}" if decode else "")
        lines.append(f"Speedup of {OOSPEC} over {TOOLSPEC}: {said}; by request, total: {_ratios(pair.total_ratios)}")
    if summary.rounds_saved is not None:
        lines.append(
            f"Of the rounds that a perfect hint at time zero saves, the real hint saves {summary.rounds_saved:.0%}"
        )
    lines += _unlike(summary)
    if summary.errors:
        first = summary.errors[0]
        lines.append(
            f"{len(summary.errors)} rows are errors; the first: run {first.run}, {first.method}: {first.error}"
        )
    if summary.left_out:
        lines.append(f"{summary.left_out} requests are left out of all figures: not every method could serve them")
    lines.append(f"Measured on {measured_on(summary.header.fingerprint)}; {summary.header.date}")
    return lines


def _unlike(summary: Summary) -> list[str]:
    lines = []
    for name, each in summary.methods.items():
        for difference in each.differences[:_MOST_ROWS]:
            margin = "unknown" if difference.margin is None else f"{difference.margin:.4f}"
            lines.append(
                f"{name}: {difference.request} departs from {summary.reference}'s output at token "
                f"{difference.position}, logit gap {margin} (runs {', '.join(map(str, difference.runs))})"
            )
        if len(each.differences) > _MOST_ROWS:
            lines.append(f"{name}: {len(each.differences) - _MOST_ROWS} more; --json has them all")
    return lines


def _seconds(figure: Figure | None) -> str:
    if figure is None:
        return ""
    digits = 3 if figure.median < 1 else 1
    half = f" ±{(figure.high - figure.low) / 2:.{digits}f}" if figure.high > figure.low else ""  # one run has no spread
    return f"{figure.median:.{digits}f}{half}"


def _speedup(figure: Figure | None) -> tuple[str, str]:
    if figure is None:
        return "", ""
    return f"{figure.median:.2f}×", f"{figure.low:.2f}–{figure.high:.2f}" if figure.high > figure.low else ""


def _said(figure: Figure, of: str) -> str:
    middle, extremes = _speedup(figure)
    return f"{middle} {of}" + (f" ({extremes})" if extremes else "")


def _ratios(ratios: Ratios | None) -> str:
    return f"{ratios.p05:.2f} / {ratios.p50:.2f} / {ratios.p95:.2f}" if ratios else ""
