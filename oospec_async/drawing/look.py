"""How every figure looks: plotly's layout without its axes' titles, as plain data."""

from __future__ import annotations

from oospec_async.drawing.colours import CLEAR, FAINT_INK, GRID, INK
from oospec_async.request import Json

_FONT = '"Helvetica Neue", Helvetica, Arial, "Liberation Sans", sans-serif'


def layout(height: float, margin: dict[str, int], **more: Json) -> dict[str, Json]:
    """``height`` and ``margin`` (t, b, l, r) in pixels; ``more``: what else the layout has."""
    return {
        "height": height,
        "margin": margin,
        "font": {"family": _FONT, "size": 12, "color": INK},
        "hovermode": "closest",
        "hoverlabel": {"bgcolor": "#FFFFFF", "bordercolor": FAINT_INK, "font": {"size": 12}, "align": "left"},
        "modebar": {"color": "#C3C9D2", "activecolor": FAINT_INK, "bgcolor": CLEAR},
        "plot_bgcolor": "#FFFFFF",
        "paper_bgcolor": "#FFFFFF",
        **more,
    }


def axis(title: str = "", **more: Json) -> dict[str, Json]:
    """An axis with its ticks outside and a faint grid."""
    look = {"gridcolor": GRID, "zeroline": False, "ticks": "outside", "tickcolor": FAINT_INK}
    return {**look, "title": {"text": title, "font": {"size": 12.5}, "standoff": 8}, **more}


def note(text: str, **place: Json) -> dict[str, Json]:
    """Text at a place in a figure, without an arrow."""
    return {"text": text, "showarrow": False, "xanchor": "left", "yanchor": "middle", "align": "left", **place}
