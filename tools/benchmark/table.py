"""The summary for people, and for programs."""

from __future__ import annotations

from dataclasses import asdict

import click
from pydantic_core import to_json
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from benchmark.figures import OOSPEC, TOOLSPEC
from benchmark.machine import measured_on
from benchmark.summary import Figure, Ratios, Summary
from oospec_async.console.command import visible

_FILE_WIDTH = 150  # columns where stdout is no terminal
_MOST_ROWS = 12  # of differing outputs that are shown by method


def as_json(summary: Summary) -> str:
    header = summary.header
    about = {"format": "oospec-bench-summary/1", "measured_on": header.fingerprint.model_dump(), "date": header.date}
    errors = [row.model_dump(exclude={"measured"}) for row in summary.errors]
    figures = asdict(summary) | {"errors": errors}
    del figures["header"]
    return to_json(about | figures, indent=1, inf_nan_mode="null").decode()


def show_tables(*tables: RenderableType) -> None:
    """Print on stdout. By ``click``, for rich ends the process where whoever reads has enough."""
    console = Console(markup=False, emoji=False)  # names are no markup
    if not console.is_terminal:
        console = Console(width=_FILE_WIDTH, markup=False, emoji=False)
    with console.capture() as shown:
        for table in tables:
            console.print(table, highlight=False, soft_wrap=isinstance(table, str))
    click.echo(shown.get(), nl=False, color=True)


def show(summary: Summary) -> None:
    shown: list[RenderableType] = [_times(summary), _speedups(summary)]
    if any(each.hints for each in summary.methods.values()):
        shown.append(_hints(summary))
    if len(set(summary.header.categories.values())) > 1:
        shown.append(_categories(summary))
    show_tables(*shown, *map(visible, _lines(summary)))


def _table(title: str, *columns: str) -> Table:
    table = Table(title=Text(visible(title)), title_justify="left")
    for index, name in enumerate(columns):
        table.add_column(visible(name), justify="right" if index else "left", overflow="fold")
    return table


def _times(summary: Summary) -> Table:
    table = _table(
        f"Seconds for {summary.requests} requests: median of {summary.over_runs}, ± half the distance of the extremes",
        *("method", "total", "first token", "prefill", "decode", "host", "tokens", "rounds", "per round", "same ids"),
    )
    for name, each in summary.methods.items():
        times = each.times
        unlike = len({difference.request for difference in each.differences})
        table.add_row(
            visible(name),
            _seconds(times["total_seconds"]),
            *(_seconds(times[f"{part}_seconds"]) for part in ("first_token", "prefill", "decode", "host")),
            str(each.tokens),
            f"{each.rounds:.0f}",
            f"{each.mean_accepted:.2f}",
            "all" if not unlike else f"all but {unlike}",
        )
    return table


def _speedups(summary: Summary) -> Table:
    base = summary.baseline
    table = _table(
        f"Speedup over {base}: total time over total time, of the same run; by request p05/p50/p95",
        *("method", "total", "from–to", "decode", "from–to", "over the faster of generate, ar: decode"),
        *("by request: total", "by request: decode"),
    )
    for name, each in summary.methods.items():
        table.add_row(
            visible(name),
            *_speedup(each.total_speedup),
            *_speedup(each.decode_speedup),
            _speedup(each.decode_speedup_over_plain)[0],
            _ratios(each.total_ratios),
            _ratios(each.decode_ratios),
        )
    return table


def _hints(summary: Summary) -> Table:
    table = _table(
        "Hints",
        *("method", "arrived", "whole before round 1", "after s", "at token", "payload B", "wave s"),
    )
    for name, each in summary.methods.items():
        if (hints := each.hints) is not None:
            table.add_row(
                visible(name),
                f"{hints.arrived:.0%}",
                f"{hints.whole_at_first_round:.0%}",
                _number(hints.arrival_seconds, 2),
                _number(hints.arrival_position, 0),
                _number(hints.payload_bytes, 0),
                _number(hints.wave_seconds, 2),
            )
    return table


def _categories(summary: Summary) -> Table:
    names = list(dict.fromkeys(summary.header.categories.values()))
    table = _table(
        f"By category: speedup over {summary.baseline}, total (decode)",
        "method",
        *(f"{name} ({_count(summary, name)})" for name in names),
    )
    for method, each in summary.methods.items():
        cells = []
        for name in names:
            found = each.categories.get(name)
            decode = f" ({found.decode_speedup.median:.2f}×)" if found and found.decode_speedup else ""
            cells.append(f"{found.total_speedup.median:.2f}×{decode}" if found else "")
        table.add_row(visible(method), *cells)
    return table


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


def _number(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:.{digits}f}"
