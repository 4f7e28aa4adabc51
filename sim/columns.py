"""A table as wide as the terminal allows: columns that find no room come in tables below it, so no figure is cut."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from oospec_async.console.command import visible


@dataclass(frozen=True)
class Column:
    """``head`` may have several lines; ``least``: cells that stand first in a row may fold to this width."""

    head: str
    cells: Sequence[str]
    least: int | None = None

    @property
    def width(self) -> int:
        lines = [*visible(self.head).splitlines(), *map(visible, self.cells)]
        whole = max((cell_len(line) for line in lines), default=0)
        return whole if self.least is None else min(whole, self.least)


def print_columns(console: Console, title: str, first: Sequence[Column], others: Sequence[Column], gap: int) -> None:
    """``first`` columns begin every table; ``gap``: spaces between columns."""
    between = gap + 1  # the box's own space
    fixed = sum(column.width + between for column in first) - between + 2  # edges
    for number, part in enumerate(_parts(fixed, [column.width + between for column in others], console.width)):
        head = Text(visible(title)) if number == 0 else None
        table = Table(title=head, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 0, 0, gap), pad_edge=False)
        for column in first:
            table.add_column(Text(visible(column.head)), overflow="fold", min_width=min(column.width, console.width))
        for index in part:
            table.add_column(Text(visible(others[index].head)), justify="right", overflow="fold")
        columns = [*first, *(others[index] for index in part)]
        for cells in zip(*(column.cells for column in columns), strict=True):
            table.add_row(*(Text(visible(cell)) for cell in cells))
        console.print(table)


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
