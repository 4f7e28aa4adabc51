"""Where results go: stdout, how wide it is and what becomes of it when it cannot be written to; and files."""

from __future__ import annotations

import contextlib
import os
import sys
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from rich.console import Console

from oospec_async.errors import OospecError
from oospec_async.files import check_writable, same_file

_WIDE = 150
_STEERING = {"Cc", "Cf", "Cs", "Zl", "Zp"}  # control, direction, lone surrogates, other line breaks


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Left to ``writing``; by itself rich would end the process with the code of a failed assertion."""
        raise BrokenPipeError


def console() -> Console:
    """Of stdout; a file or a pipe is as wide as tables need, and not the 80 columns of a terminal that is not there."""
    usual = _Console()
    return usual if usual.is_terminal or "COLUMNS" in os.environ else _Console(width=_WIDE)


def visible(text: str) -> str:
    """A text with its control characters escaped: a trace's names must not steer a terminal."""
    return "".join(repr(char)[1:-1] if _steers(char) else char for char in text)


def _steers(char: str) -> bool:
    return char != "\n" and unicodedata.category(char) in _STEERING


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


def to_nowhere() -> None:
    """Let go of stdout: what is still buffered would fail once more, with a traceback, at the end of the process."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def check_outputs(inputs: Sequence[Path | None], outputs: Mapping[str, Path | None]) -> None:
    """Before any work: what could not be written after it, and what must not be written over.

    ``inputs``: every file that is read; ``outputs``: by option. Raises OospecError.
    """
    seen = [path for path in inputs if path is not None]
    for option, path in outputs.items():
        if path is None:
            continue
        if any(same_file(path, other) for other in seen):
            raise OospecError(f"{option} {path}: is read or written already; name another file")
        check_writable(path, option)
        seen.append(path)
