"""The colours that every picture shares; told apart by colour-blind readers too, on white and on black."""

from __future__ import annotations

DRAFTER_COLOURS: dict[str, str] = {
    "": "#CBD0D8",  # the target's own token
    "schema": "#6FA8DC",
    "history": "#12756B",
    "lookup": "#E6CA55",
    "recycle": "#8E5BA6",
    "hint": "#DB5A2B",
    "draft": "#8DB63C",
}
OTHER_DRAFTER = "#7A6A5D"  # a drafter that is not in the table

PREFILL = "#97A1B0"
HOST = "#4A5462"
CHAIN = "#DCEABF"  # a tint of the colour of what comes of it
SIDECAR_PREFILL = "#EDB69D"  # tints of the hint's colour: what the sidecar does shows up in the target as hint
SIDECAR_STEP = "#F6D9CB"
INK = "#1F2933"
FAINT_INK = "#6B7684"
GRID = "#E7EAEE"
CLEAR = "rgba(0,0,0,0)"


def drafter_colour(drafter: str) -> str:
    """The hex colour of a drafter's name, known or not; "" is the target itself."""
    return DRAFTER_COLOURS.get(drafter, OTHER_DRAFTER)
