"""Self-contained web pages: jinja2 templates with plotly's figures in them; they need nothing from a network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from oospec_async.drawing import colours

_HERE = Path(__file__).parent


def render(template: Path, **values: Any) -> str:
    """The page as HTML text. Every text among the values is escaped; a figure is plotly's data and layout.

    ``template`` extends ``page.html``, which holds what is drawn, and when, and whom the page may not ask for anything.
    """
    from plotly.offline import get_plotlyjs

    environment = Environment(
        loader=FileSystemLoader([template.parent, _HERE]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":")}
    return environment.get_template(template.name).render(plotly=get_plotlyjs(), colours=colours, **values)
