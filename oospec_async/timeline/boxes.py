"""Boxes, markers and arrows: one plotly trace for all of a kind, so that a page of thousands stays quick.

x is in ms, y in pixels from the top of the figure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from oospec_async.drawing.colours import INK
from oospec_async.request import Json

Point = tuple[float, float]
_HOVER = "%{customdata}<extra></extra>"


@dataclass
class Boxes:
    """Boxes that share a colour."""

    colour: str
    line: str = "#FFFFFF"
    line_width: float = 0.8
    _rows: list[tuple[Json, ...]] = field(default_factory=list)

    def add(self, span: tuple[float, float], top: float, height: float, label: str = "", hover: str = "") -> None:
        """Adds a box from ``span[0]`` to ``span[1]`` ms; without ``hover`` the pointer passes through it."""
        start, end = span
        self._rows.append((start, round(end - start, 4), top + height / 2, height, label, hover))

    def traces(self) -> list[dict[str, Json]]:
        """The trace, or none where there is no box."""
        if not self._rows:
            return []
        columns = zip(("base", "x", "y", "width", "text", "customdata"), zip(*self._rows, strict=True), strict=True)
        trace: dict[str, Json] = {name: list(values) for name, values in columns}
        return [
            {
                "type": "bar",
                "orientation": "h",
                "marker": {"color": self.colour, "line": {"color": self.line, "width": self.line_width}},
                "textposition": "inside",
                "insidetextanchor": "middle",
                "textangle": 0,
                "insidetextfont": {"color": INK, "size": 11},
                **trace,
                **({"hovertemplate": _HOVER} if any(trace["customdata"]) else {"hoverinfo": "skip"}),
            }
        ]


def markers(points: Sequence[tuple[float, float, str]], marker: dict[str, Json]) -> list[dict[str, Json]]:
    """A trace of markers at (ms, pixels, what hovering shows), or none where there is no point."""
    if not points:
        return []
    x, y, hover = (list(column) for column in zip(*points, strict=True))
    look = {"type": "scatter", "mode": "markers", "marker": marker, "hovertemplate": _HOVER}
    return [{**look, "x": x, "y": y, "customdata": hover}]


def arrows(pairs: Sequence[tuple[Point, Point]], colour: str) -> list[dict[str, Json]]:
    """A trace of arrows between pairs of points, or none where there is no pair."""
    if not pairs:
        return []
    head = {"symbol": "arrow", "angleref": "previous", "color": colour, "size": [0, 9, 0] * len(pairs)}
    look = {"type": "scatter", "mode": "lines+markers", "line": {"color": colour, "width": 1.2}, "hoverinfo": "skip"}
    x, y = ([at for start, end in pairs for at in (start[axis], end[axis], None)] for axis in (0, 1))
    return [{**look, "x": x, "y": y, "marker": head}]
