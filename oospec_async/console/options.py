"""Options that several commands have, each declared once: they are decorators, as ``click.option`` gives them."""

from __future__ import annotations

from pathlib import Path

import click

PATH = click.Path(path_type=Path)
COUNT = click.IntRange(min=1)


def names(text: str) -> list[str]:
    """``a,b`` as a list; the type of options that take several names."""
    return [name.strip() for name in text.split(",")]


as_json = click.option("--json", "as_json", is_flag=True, help="Results as JSON on stdout.")
limit = click.option("--limit", type=COUNT, help="Serve only so many requests.")
max_new_tokens = click.option("--max-new-tokens", type=COUNT, help="Instead of each request's own limit.")
report = click.option("--report", type=PATH, metavar="FILE.html", help="Write a web page with plots.")
seed = click.option("--seed", type=click.IntRange(0, 2**31 - 1), default=0, show_default=True)
timeline = click.option("--timeline", type=PATH, metavar="FILE.html|.json", help="Draw both devices.")
