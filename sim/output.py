"""Where results go: stdout, how wide it is, and what becomes of it when it cannot be written to."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator

from rich.console import Console

from oospec_async.console.command import to_nowhere
from oospec_async.errors import OospecError

_WIDE = 150


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Left to ``writing``; by itself rich would end the process with the code of a failed assertion."""
        raise BrokenPipeError


def console() -> Console:
    """Of stdout; a file or a pipe is as wide as tables need, and not the 80 columns of a terminal that is not there."""
    usual = _Console()
    return usual if usual.is_terminal or "COLUMNS" in os.environ else _Console(width=_WIDE)


@contextlib.contextmanager
def writing() -> Iterator[None]:
    """Around everything that prints results. Whoever closes stdout, as ``head`` does, has enough: nothing is said.

    Raises OospecError where stdout is full.
    """
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        to_nowhere()
    except OSError as error:
        to_nowhere()
        raise OospecError(f"stdout: cannot write: {error.strerror or error}") from None
