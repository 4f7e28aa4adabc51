"""The summary as one picture: speedups with their spread, and where the time of each method goes."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

from oospec_async.console.command import visible
from oospec_async.drawing.colours import FAINT_INK, INK
from oospec_async.drawing.look import axis, layout, note
from oospec_async.drawing.picture import write_picture
from oospec_async.request import Json
from tools.benchmark.machine import measured_on
from tools.benchmark.report.summary import Figure, MethodFigures, Summary

_OTHER, _OURS, _BOUND = ("#7b8794", "#cbd2d9"), ("#1f5fa8", "#a9c8ea"), ("#a8893f", "#e6d9b4")  # total, decode
_PARTS = {
    "to the first token": "#9ec5e8",
    "decode: the target's forwards": "#1f5fa8",
    "decode: host": "#e08e45",
    "decode, not told apart": "#6d87a3",
}
_ROW, _GAP = 38, 80  # pixels: a method, between the panels
_MARGIN = {"t": 40, "b": 66, "l": 180, "r": 20}


def draw(summary: Summary, path: Path) -> None:
    """Raises OospecError if the file cannot be made."""
    about = measured_on(summary.header.fingerprint)
    whiskers = "; whiskers: lowest and highest run" if summary.runs > 1 else ""
    runs = f"{summary.requests} requests: medians of {summary.over_runs}{whiskers}"
    caption = f"{runs}. Measured on {about}; {summary.header.date[:10]}."
    write_picture(figure(summary), path, "--picture", caption)


def figure(summary: Summary) -> dict[str, Json]:
    """The plotly figure (data and layout): a panel of speedups above one of times, a row a method."""
    names = list(summary.methods)
    panel = _ROW * len(names)
    inside = 2 * panel + _GAP
    upper, lower = [1 - panel / inside, 1.0], [0.0, panel / inside]
    lines: dict[str, Json] = {
        "tickvals": list(range(len(names))),
        "ticktext": [_plain(name).replace(":", ":<br>") for name in names],
        "range": [len(names) - 0.45, -0.55],
        "ticks": "",
        "showgrid": False,
    }
    heads = {f"Speedup over {_plain(summary.baseline)}: whole requests, and the decode alone": upper}
    heads["Where the time goes: mean seconds of a request"] = lower
    place = {"xref": "paper", "yref": "paper", "yanchor": "bottom"}
    said = [note(head, x=0, y=y[1], yshift=6, font={"size": 15}, **place) for head, y in heads.items()]
    fastest = max(speedup.high for _, _, speedup in _bars(summary) if speedup is not None)
    longest = max(sum(_seconds(each, summary.requests)) for each in summary.methods.values())
    return {
        "data": [*_speedups(summary), *_times(summary)],
        "layout": layout(
            inside + _MARGIN["t"] + _MARGIN["b"],
            _MARGIN,
            barmode="overlay",
            xaxis=axis(range=[0, fastest * 1.12], anchor="y", ticks=""),
            yaxis=axis(domain=upper, **lines),
            xaxis2=axis(range=[0, longest * 1.12], anchor="y2", ticks=""),
            yaxis2=axis(domain=lower, **lines),
            legend={"orientation": "h", "x": 0, "xanchor": "left", "y": -28 / inside, "yanchor": "top"},
            annotations=said,
            shapes=[_one()],
        ),
    }


def _one() -> dict[str, Json]:
    line = {"color": FAINT_INK, "width": 1, "dash": "dash"}
    return {"type": "line", "x0": 1, "x1": 1, "y0": 0, "y1": 1, "yref": "y domain", "layer": "below", "line": line}


def _bars(summary: Summary) -> list[tuple[str, int, Figure | None]]:
    """Whole requests (0), and below them the decode alone (1), by method."""
    totals = [(name, 0, each.total_speedup) for name, each in summary.methods.items()]
    return [*totals, *((name, 1, each.decode_speedup) for name, each in summary.methods.items())]


def _speedups(summary: Summary) -> list[dict[str, Json]]:
    names, drawn = list(summary.methods), []
    for name, shade, speedup in _bars(summary):
        if speedup is None:
            continue
        y = [names.index(name) + (-0.16, 0.22)[shade]]
        whisker = {"symmetric": False, "color": INK, "thickness": 1, "width": 2, "visible": speedup.high > speedup.low}
        reach = {"array": [speedup.high - speedup.median], "arrayminus": [speedup.median - speedup.low]}
        bar = _bar("", y, [speedup.median], (0.42, 0.24)[shade], _colour(name)[shade], error_x=whisker | reach)
        label = f" {speedup.median:.2f}×" + ("", " decode")[shade]
        drawn += [bar, _text([speedup.high], y, label, "", (13, 10.5)[shade], (INK, FAINT_INK)[shade])]
    return drawn


def _times(summary: Summary) -> list[dict[str, Json]]:
    parts = [_seconds(each, summary.requests) for each in summary.methods.values()]
    rows, drawn = list(range(len(parts))), []
    for index, (part, colour) in enumerate(_PARTS.items()):
        seconds = [each[index] for each in parts]
        if any(seconds):
            base = [sum(each[:index]) for each in parts]
            place = {"base": base, "xaxis": "x2", "yaxis": "y2", "showlegend": True}
            drawn.append(_bar(part, rows, seconds, 0.62, colour, **place))
    for row, each in enumerate(parts):
        drawn.append(_text([sum(each)], [row], f" {sum(each):.2f} s", "2", 12.5, INK))
    return drawn


def _bar(name: str, y: Sequence[float], x: Sequence[float], width: float, colour: str, **more: Json) -> dict[str, Json]:
    look = {"type": "bar", "orientation": "h", "marker": {"color": colour}, "showlegend": False}
    return {**look, "name": name, "x": list(x), "y": list(y), "width": width, **more}


def _text(x: list[float], y: list[float], text: str, axes: str, size: float, colour: str) -> dict[str, Json]:
    look = {"type": "scatter", "mode": "text", "textposition": "middle right", "hoverinfo": "skip", "showlegend": False}
    place = {"x": x, "y": y, "xaxis": f"x{axes}", "yaxis": f"y{axes}", "cliponaxis": False}
    return {**look, **place, "text": [text], "textfont": {"size": size, "color": colour}}


def _seconds(figures: MethodFigures, requests: int) -> tuple[float, float, float, float]:
    """Of a mean request: first token, forwards, host, and the decode where these two are not seen apart."""

    def mean(name: str) -> float | None:
        figure = figures.times[name]
        return None if figure is None else figure.median / requests

    first, decode, host = mean("first_token_seconds") or 0.0, mean("decode_seconds") or 0.0, mean("host_seconds")
    return (first, 0.0, 0.0, decode) if host is None else (first, max(0.0, decode - host), host, 0.0)


def _plain(text: str) -> str:
    """Without what plotly would read as HTML, or what no image can hold."""
    return escape(visible(text), quote=False)


def _colour(name: str) -> tuple[str, str]:
    if "@" in name:
        return _BOUND
    return _OURS if name.partition("/")[0] == "oospec" else _OTHER
