"""The summary as one picture: speedups with their spread, and where the time of each method goes."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

from oospec_async.console.command import visible
from oospec_async.drawing.colours import FAINT_INK, INK
from tools.benchmark.machine import measured_on
from tools.benchmark.summary import Figure, MethodFigures, Summary
from tools.drawing import dress, write_picture

_OTHER, _OURS, _BOUND = ("#7b8794", "#cbd2d9"), ("#1f5fa8", "#a9c8ea"), ("#a8893f", "#e6d9b4")  # total, decode
_PARTS = ("#9ec5e8", "#1f5fa8", "#e08e45", "#6d87a3")  # first token, forwards, host, both together
_LABELS = ("to the first token", "decode: the target's forwards", "decode: host", "decode, not told apart")
_WIDTH, _LEFT, _RIGHT = 10.5, 2.3, 0.35  # inches
_ROW, _GAP, _LINE = 0.38, 0.95, 0.16  # inches: a method, between the panels, a line of the caption
_CAPTION_WIDTH = 175  # characters
_TITLE: dict[str, Any] = {"loc": "left", "fontsize": 11, "color": INK, "pad": 8}


def draw(summary: Summary, path: Path) -> None:
    """Raises OospecError if the file cannot be written."""
    write_picture(path, "--picture", lambda: _figure(summary))


def _figure(summary: Summary) -> Any:
    from matplotlib.figure import Figure as Canvas

    names = list(summary.methods)
    about = measured_on(summary.header.fingerprint)
    whiskers = "; whiskers: lowest and highest run" if summary.runs > 1 else ""
    runs = f"{summary.requests} requests: medians of {summary.over_runs}{whiskers}"
    caption = textwrap.wrap(f"{runs}. Measured on {about}; {summary.header.date[:10]}.", _CAPTION_WIDTH)
    panel, foot = _ROW * len(names), 1.0 + _LINE * len(caption)
    height = 0.45 + 2 * panel + _GAP + foot
    figure = Canvas(figsize=(_WIDTH, height), facecolor="white")

    def axes(bottom: float) -> Any:
        width = _WIDTH - _LEFT - _RIGHT
        return figure.add_axes((_LEFT / _WIDTH, bottom / height, width / _WIDTH, panel / height))

    _speedups(axes(foot + panel + _GAP), summary, names)
    _times(axes(foot), summary, names)
    text = visible("\n".join(caption))
    figure.text(0.015, 0.12 / height, text, fontsize=7.5, color=FAINT_INK, va="bottom", ha="left", linespacing=1.5)
    return figure


def _speedups(axes: Any, summary: Summary, names: list[str]) -> None:
    """Two bars a method: whole requests, and below it the decode alone."""
    figures = [summary.methods[name] for name in names]
    totals: list[Figure | None] = [each.total_speedup for each in figures]
    decodes = [each.decode_speedup for each in figures]
    right = max(speedup.high for speedup in (*totals, *decodes) if speedup is not None)
    for bars, shift, height, shade, size in ((totals, -0.16, 0.42, 0, 9.0), (decodes, 0.22, 0.24, 1, 7.5)):
        for place, (name, speedup) in enumerate(zip(names, bars, strict=True)):
            if speedup is not None:
                axes.barh(place + shift, speedup.median, height, color=_colour(name)[shade])
                _whisker(axes, place + shift, speedup)
                text = f"{speedup.median:.2f}×" + ("" if shade == 0 else " decode")
                axes.text(
                    speedup.high + 0.012 * right, place + shift, text, va="center", fontsize=size,
                    color=(INK, FAINT_INK)[shade], bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5},
                )  # fmt: skip
    axes.axvline(1.0, color=FAINT_INK, linewidth=0.8, linestyle=(0, (4, 3)), zorder=0.5)
    axes.set_xlim(0, right * 1.12)
    axes.set_title(visible(f"Speedup over {summary.baseline}: whole requests, and the decode alone"), **_TITLE)
    _dress(axes, names)


def _times(axes: Any, summary: Summary, names: list[str]) -> None:
    seen: set[int] = set()
    longest = 0.0
    for place, name in enumerate(names):
        left = 0.0
        for part, seconds in enumerate(_seconds(summary.methods[name], summary.requests)):
            if seconds > 0:
                label = None if part in seen else _LABELS[part]
                axes.barh(place, seconds, 0.62, left=left, color=_PARTS[part], label=label)
                seen.add(part)
                left += seconds
        axes.text(left, place, f"  {left:.2f} s", va="center", fontsize=9)
        longest = max(longest, left)
    axes.set_xlim(0, longest * 1.12)
    axes.set_title("Where the time goes: mean seconds of a request", **_TITLE)
    _dress(axes, names)
    found, labels = axes.get_legend_handles_labels()
    handles = dict(zip(labels, found, strict=True))
    told = [label for label in _LABELS if label in handles]
    axes.legend(
        [handles[label] for label in told], told, frameon=False, fontsize=8.5, loc="upper left", ncols=4,
        bbox_to_anchor=(0.0, -0.28 / (_ROW * len(names))), handlelength=1.2, columnspacing=1.6, borderpad=0,
        borderaxespad=0,
    )  # fmt: skip


def _seconds(figures: MethodFigures, requests: int) -> tuple[float, float, float, float]:
    """Of a mean request: first token, forwards, host, and the decode where these two are not seen apart."""

    def mean(name: str) -> float | None:
        figure = figures.times[name]
        return None if figure is None else figure.median / requests

    first, decode, host = mean("first_token_seconds") or 0.0, mean("decode_seconds") or 0.0, mean("host_seconds")
    return (first, 0.0, 0.0, decode) if host is None else (first, max(0.0, decode - host), host, 0.0)


def _whisker(axes: Any, place: float, figure: Figure) -> None:
    if figure.high > figure.low:
        reach = [[figure.median - figure.low], [figure.high - figure.median]]
        axes.errorbar([figure.median], [place], xerr=reach, fmt="none", ecolor=INK, elinewidth=0.9, capsize=2)


def _colour(name: str) -> tuple[str, str]:
    if "@" in name:
        return _BOUND
    return _OURS if name.partition("/")[0] == "oospec" else _OTHER


def _dress(axes: Any, names: list[str]) -> None:
    dress(axes, [name.replace(":", ":\n") for name in names])
