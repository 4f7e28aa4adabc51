"""stdout: how wide it is, and what becomes of it when it cannot be written to."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator

from rich.console import Console

from oospec_async.errors import OospecError

_WIDE = 150


def console() -> Console:
    """Of stdout; a file or a pipe is as wide as tables need, and not the 80 columns of a terminal that is not there."""
    usual = Console()
    return usual if usual.is_terminal or "COLUMNS" in os.environ else Console(width=_WIDE)


@contextlib.contextmanager
def writing() -> Iterator[None]:
    """Around everything that prints results. Raises OospecError where stdout is full or closed."""
    try:
        yield
        sys.stdout.flush()
    except OSError as error:
        # What is still buffered would fail once more, with a traceback, at the end of the process.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise OospecError(f"stdout: cannot write: {error.strerror or error}") from None
