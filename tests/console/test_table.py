"""A table is as wide as the terminal allows, and no figure in it is cut."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from oospec_async.console.table import Table, print_table


@pytest.mark.parametrize(("width", "tables"), [(20, None), (40, 3), (62, 2), (150, 1)])
def test_no_figure_is_cut_on_a_narrow_terminal(width: int, tables: int | None) -> None:
    heads = ["", *(f"method{i}" for i in range(6))]
    rows = [["latency, mean", *(f"{i}.23 ms" for i in range(6))], ["busy", *(f"{i}4%" for i in range(6))]]
    out = io.StringIO()
    print_table(Console(width=width, file=out), Table("title", heads, rows))
    text = out.getvalue()
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= width
    if tables is not None:
        assert all(cell in text for row in (heads, *rows) for cell in row)
        assert text.count("latency, mean") == tables
