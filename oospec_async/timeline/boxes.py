"""Boxes in a figure: one plotly trace for all of a colour, so that a page of thousands stays quick."""

from __future__ import annotations

from collections.abc import Sequence

from oospec_async.request import Json
from oospec_async.timeline import colours

CLEAR = "rgba(0,0,0,0)"


class Boxes:
    """Boxes that share a colour. Their x is in ms, their y in pixels from the top of the figure."""

    def __init__(self, colour: str, line: str = "#FFFFFF", line_width: float = 0.8) -> None:
        self._style: dict[str, Json] = {"color": colour, "line": {"color": line, "width": line_width}}
        self._columns: dict[str, list[Json]] = {key: [] for key in ("base", "x", "y", "width", "text", "customdata")}

    def add(self, span: tuple[float, float], top: float, height: float, label: str = "", hover: str = "") -> None:
        """Adds a box from ``span[0]`` to ``span[1]`` ms; without ``hover`` the pointer passes through it."""
        start, end = span
        row = (start, round(end - start, 4), top + height / 2, height, label, hover)
        for values, value in zip(self._columns.values(), row, strict=True):
            values.append(value)

    def traces(self) -> list[dict[str, Json]]:
        """The trace, or none where there is no box."""
        hover = self._columns["customdata"]
        if not hover:
            return []
        shown = {"hovertemplate": "%{customdata}<extra></extra>"} if any(hover) else {"hoverinfo": "skip"}
        trace: dict[str, Json] = {
            "type": "bar",
            "orientation": "h",
            "marker": self._style,
            "textposition": "inside",
            "insidetextanchor": "middle",
            "textangle": 0,
            "insidetextfont": {"color": colours.INK, "size": 11},
        }
        return [trace | self._columns | shown]


def markers(points: Sequence[tuple[float, float, str]], marker: dict[str, Json]) -> list[dict[str, Json]]:
    """A trace of markers at (ms, pixels, what hovering shows), or none where there is no point."""
    if not points:
        return []
    x, y, hover = (list(column) for column in zip(*points, strict=True))
    return [
        {
            "type": "scatter",
            "mode": "markers",
            "x": x,
            "y": y,
            "customdata": hover,
            "marker": marker,
            "hovertemplate": "%{customdata}<extra></extra>",
        }
    ]


def arrows(pairs: Sequence[tuple[tuple[float, float], tuple[float, float]]], colour: str) -> list[dict[str, Json]]:
    """A trace of arrows between pairs of (ms, pixels), or none where there is no pair."""
    if not pairs:
        return []
    return [
        {
            "type": "scatter",
            "mode": "lines+markers",
            "x": [x for start, end in pairs for x in (start[0], end[0], None)],
            "y": [y for start, end in pairs for y in (start[1], end[1], None)],
            "line": {"color": colour, "width": 1.2},
            "marker": {
                "symbol": "arrow",
                "angleref": "previous",
                "size": [size for _ in pairs for size in (0, 9, 0)],
                "color": colour,
            },
            "hoverinfo": "skip",
        }
    ]
