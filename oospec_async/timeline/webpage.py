"""A self-contained web page with plotly's figures in it; it needs nothing from a network."""

from __future__ import annotations

import json
from html import escape

from oospec_async.request import Json
from oospec_async.timeline import colours

# Whatever a request or a trace is called, the page cannot be made to ask a network for anything.
_POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"


def document(title: str, style: str, script: str, body: str) -> str:
    """The page as HTML text. ``title`` is escaped here; ``script`` runs last, with plotly at hand."""
    from plotly.offline import get_plotlyjs

    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>{_coloured(style)}</style>
</head>
<body>
{body}
<script>{get_plotlyjs()}</script>
<script>{script}</script>
</body>
</html>
"""


def embedded(figure: dict[str, Json]) -> str:
    """An element of class ``plot``, as high as the figure's layout says, and the figure as JSON in the next one."""
    # In a script element only "<" could end the data early; JSON has another spelling for it.
    data = json.dumps(figure, separators=(",", ":")).replace("<", "\\u003c")
    height = figure["layout"]["height"]
    return f'<div class="plot" style="height:{height}px"></div><script type="application/json">{data}</script>'


def _coloured(css: str) -> str:
    """A style sheet with the names of colours (INK, FAINT, GRID) replaced."""
    return css.replace("INK", colours.INK).replace("FAINT", colours.FAINT_INK).replace("GRID", colours.GRID)
