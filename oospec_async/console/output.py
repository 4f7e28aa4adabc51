"""Where results and notes go: consoles of stdout and stderr, and the columns of a progress bar.

What becomes of a stdout that is full, or that its reader has closed, is for ``run_command`` to say.
"""

from __future__ import annotations

import os

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

from oospec_async.console.command import visible

COUNTED = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
"""Columns of a progress bar over so many of so many."""

_WIDE = 150


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """By itself rich would end the process with the code of a failed assertion."""
        raise BrokenPipeError


def stdout() -> Console:
    """A file or a pipe is as wide as tables need, and not the 80 columns of a terminal that is not there."""
    usual = _Console(highlight=False, markup=False, emoji=False)
    if usual.is_terminal or "COLUMNS" in os.environ:
        return usual
    return _Console(width=_WIDE, highlight=False, markup=False, emoji=False)


def print_line(console: Console, line: str, style: str = "") -> None:
    """A line of text as it is; what would steer a terminal is escaped."""
    console.print(Text(visible(line), style=style))


def note(err: Console, line: str) -> None:
    """A line about the work, on stderr."""
    err.print(visible(line), style="dim", soft_wrap=True, markup=False, highlight=False)
