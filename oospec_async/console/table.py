"""A table as wide as the terminal allows: columns that find no room come in tables below it, so no figure is cut."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import rich.table
from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from oospec_async.console.command import visible


@dataclass(frozen=True)
class Table:
    """The ``first`` columns hold names and begin every part of a table that is split; the others hold figures.

    ``heads`` may have several lines. Names may fold to ``least`` characters. ``gap``: spaces between columns.
    """

    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    first: int = 1
    least: int | None = None
    gap: int = 2


def print_table(console: Console, table: Table) -> None:
    """Names and figures are plain text; what would steer a terminal is escaped."""
    between = table.gap + 1  # the box's own space
    first, widths = table.first, [_width(column) for column in zip(table.heads, *table.rows, strict=True)]
    if table.least is not None:
        widths[:first] = [min(width, table.least) for width in widths[:first]]
    edges = 2
    fixed = sum(width + between for width in widths[:first]) - between + edges
    for number, part in enumerate(_parts(fixed, [width + between for width in widths[first:]], console.width)):
        title = Text(visible(table.title)) if table.title and number == 0 else None
        drawn = rich.table.Table(
            title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 0, 0, table.gap), pad_edge=False
        )
        columns = [*range(first), *(first + index for index in part)]
        for index in columns:
            name = index < first
            drawn.add_column(
                Text(visible(table.heads[index])),
                overflow="fold",
                justify="left" if name else "right",
                min_width=min(widths[index], console.width) if name else None,
            )
        for row in table.rows:
            drawn.add_row(*(Text(visible(row[index])) for index in columns))
        console.print(drawn)


def cell(value: float | None, form: str, scale: float = 1) -> str:
    """A figure by a format such as ``{:.2f}x``; nothing where there is none."""
    return "" if value is None else form.format(value * scale)


def _width(column: Sequence[str]) -> int:
    return max(cell_len(line) for text in column for line in (visible(text).splitlines() or [""]))


def _parts(fixed: int, widths: Sequence[int], room: int) -> list[range]:
    """As many columns to a table as there is room for, one at least."""
    parts: list[range] = []
    start, used = 0, fixed
    for index, width in enumerate(widths):
        if index > start and used + width > room:
            parts.append(range(start, index))
            start, used = index, fixed
        used += width
    return [*parts, range(start, len(widths))]
