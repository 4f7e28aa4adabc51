"""Plotly figures as plain data, in one look."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from oospec_async.drawing import colours
from oospec_async.drawing.look import axis, layout, note
from oospec_async.request import Json

_METHODS = {
    "ar": "#97A1B0",
    "toolspec": "#2F6FA8",
    "oospec": colours.drafter_colour("hint"),
    "oospec@zero": "#E9A68B",
    "oospec@never": "#7A6A5D",
    "perfect": "#4A5462",
}
_SERIES = ("#DB5A2B", "#2F6FA8", "#12756B", "#8E5BA6", "#B8860B", "#4A5462", "#C2477F", "#5B8C2A")

_HEIGHT = 310  # pixels
_MOST_TICKS = 10

Line = tuple[str, Sequence[float], Sequence[float]]  # name, x, y


def colour_of(name: str, index: int = 0) -> str:
    """A method's own colour, else one of a series."""
    return _METHODS.get(name, _SERIES[index % len(_SERIES)])


def lines(
    series: Sequence[Line],
    x: str,
    y: str,
    *,
    log: bool = False,
    log_y: bool = False,
    levels: Mapping[str, float] | None = None,
    steps: bool = False,
) -> dict[str, Json]:
    """Lines with markers; ``levels`` are named horizontal lines; ``steps``: no markers, as for a distribution."""
    data = [
        {
            "type": "scatter",
            "mode": "lines" if steps else "lines+markers",
            "name": name,
            "x": list(xs),
            "y": list(ys),
            "line": {"color": colour_of(name, i), "width": 2, "shape": "hv" if steps else "linear"},
            "marker": {"size": 6},
            "hovertemplate": f"%{{x:.4~g}}, %{{y:.4~g}}<extra>{name}</extra>",
        }
        for i, (name, xs, ys) in enumerate(series)
    ]
    drawn = _layout(x, y, _HEIGHT)
    ticks = sorted({x for _, xs, _ in series for x in xs})
    if log:
        drawn["xaxis"] |= {"type": "log", "dtick": "D2", "tickformat": "~g"}
    if len(ticks) <= _MOST_TICKS and (log or all(x == int(x) for x in ticks)):
        drawn["xaxis"] |= {"tickvals": ticks, "ticktext": [f"{x:g}" for x in ticks]}
    drawn["yaxis"] |= {"type": "log", "dtick": "D2", "tickformat": "~g"} if log_y else {"rangemode": "tozero"}
    for name, level in (levels or {}).items():
        line = {"color": colours.FAINT_INK, "width": 1, "dash": "dot"}
        place = {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": level, "y1": level}
        drawn.setdefault("shapes", []).append({**place, "line": line})
        place = {"xref": "paper", "x": 1, "y": level, "xanchor": "right", "yanchor": "bottom"}
        said = note(name, font={"size": 11, "color": colours.FAINT_INK}, **place)
        drawn.setdefault("annotations", []).append(said)
    return {"data": data, "layout": drawn}


def boxes(groups: Sequence[tuple[str, Sequence[float]]], x: str, *, log: bool = False) -> dict[str, Json]:
    """Distributions beside each other: box from the first to the third quartile, whiskers at p05 and p95."""
    data = []
    for i, (name, values) in enumerate(groups):
        places = ("lowerfence", "q1", "median", "q3", "upperfence")
        percentiles = np.percentile(values, (5, 25, 50, 75, 95)).tolist()
        data.append(
            {
                "type": "box",
                "name": name,
                "y": [name],
                "orientation": "h",
                "mean": [float(np.mean(values))],
                **{place: [value] for place, value in zip(places, percentiles, strict=True)},
                "line": {"color": colour_of(name, i), "width": 1.6},
                "fillcolor": _pale(colour_of(name, i)),
                "boxmean": True,
            }
        )
    drawn = _layout(x, "", 60 + 46 * len(groups) + 26)
    drawn["yaxis"] |= {"autorange": "reversed", "showgrid": False, "automargin": True}
    drawn["xaxis"] |= {"type": "log", "dtick": "D2", "tickformat": "~g"} if log else {"rangemode": "tozero"}
    drawn["showlegend"] = False
    return {"data": data, "layout": drawn}


def bars(
    names: Sequence[str], groups: Sequence[tuple[str, Sequence[float | None]]], y: str, *, percent: bool = False
) -> dict[str, Json]:
    """Grouped bars with their values above them."""
    data = [
        {
            "type": "bar",
            "name": name,
            "x": list(names),
            "y": list(values),
            "marker": {"color": colour_of(name, i)},
            "texttemplate": _bar_label(len(names) * len(groups), percent=percent),
            "textposition": "outside",
            "cliponaxis": False,
            "hovertemplate": f"%{{x}}: %{{y:.3~g}}<extra>{name}</extra>",
        }
        for i, (name, values) in enumerate(groups)
    ]
    drawn = _layout("", y, _HEIGHT)
    drawn["yaxis"]["tickformat"] = ".0%" if percent else "~g"
    if percent:
        drawn["yaxis"]["range"] = [0, 1.08]
    drawn["showlegend"] = len(groups) > 1
    return {"data": data, "layout": drawn | {"barmode": "group", "bargap": 0.28}}


def _bar_label(bars: int, *, percent: bool) -> str:
    """None where bars are too narrow for it."""
    return "" if bars > 14 else "%{y:.0%}" if percent else "%{y:.3~g}"


def _layout(x: str, y: str, height: int) -> dict[str, Json]:
    line = {"linecolor": colours.FAINT_INK, "showline": True}
    legend = {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "bgcolor": colours.CLEAR}
    margin = {"t": 30, "b": 48, "l": 58, "r": 14}
    return layout(height, margin, xaxis=axis(x, **line), yaxis=axis(y, **line), legend=legend)


def distribution_line(name: str, values: Sequence[float], total: int) -> Line:
    """The share of ``total`` for which the value is no larger than x."""
    ordered = sorted(values)
    return name, [0.0, *ordered], [0.0, *((i + 1) / total for i in range(len(ordered)))]


def _pale(colour: str) -> str:
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.18)"
