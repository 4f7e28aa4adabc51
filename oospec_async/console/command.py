"""How every command ends: with an exit code, and with one line on stderr for what the user can mend."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import select
import sys
import unicodedata
from collections.abc import Sequence

import click

from oospec_async.errors import OospecError

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}  # stdout goes to a file that takes no more
_STEERING = {"Cc", "Cf", "Cs", "Zl", "Zp"}  # control, direction, lone surrogates, other line breaks


def run_command(command: click.Command, program: str, argv: Sequence[str] | None = None) -> int:
    """Run a command and say its exit code: what it returns (nothing: 0), 2 for bad input, 130 for Ctrl-C.

    ``argv``: default, the process's own. ``-h`` is ``--help``.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that lacks a character must not cost the results
            stream.reconfigure(errors="backslashreplace")
    try:
        # Not by click's own main: where stdout is closed, it ends with the code of a failed assertion.
        given = list(sys.argv[1:] if argv is None else argv)
        with command.make_context(program, given, help_option_names=["-h", "--help"]) as context:
            code = int(command.invoke(context) or 0)
            _flush()
            return code
    except click.exceptions.Exit as ended:  # after --help
        return ended.exit_code
    except BrokenPipeError:
        if not _left_by_its_reader():  # but a process of our own has gone
            raise
        to_nowhere()
        return 0
    except click.ClickException as error:
        said, code = " ".join(error.format_message().split()), 2
    except OospecError as error:
        said, code = str(error), 2
    except OSError as error:
        if error.errno not in _FULL or error.filename is not None:
            raise
        said, code = f"stdout: cannot write: {error.strerror}", 2
    except ModuleNotFoundError as missing:
        if (missing.name or "").startswith(("oospec_async", "sim")):
            raise
        said, code = f"{missing.name} is not installed; pip install '.[live]' brings what models need", 2
    except (KeyboardInterrupt, click.Abort):
        said, code = "interrupted", 130
    try:
        _flush()
    except OSError:
        to_nowhere()
    click.echo(f"{program}: {visible(said)}", err=True)
    return code


def _flush() -> None:
    if sys.stdout is not None:  # as it is where whoever started this has closed it
        sys.stdout.flush()


def flush_streams() -> None:
    """Where the process ends without the interpreter's own end; what cannot be written any more is let go."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()


def _left_by_its_reader() -> bool:
    """Whether stdout is a pipe whose reader, as ``head`` does, has closed it and so has enough."""
    poll = select.poll()
    poll.register(sys.stdout.fileno(), 0)
    return any(flags & select.POLLERR for _, flags in poll.poll(0))


def visible(text: str) -> str:
    """A text with its control characters escaped: a trace's names must not steer a terminal."""
    return "".join(repr(char)[1:-1] if _steers(char) else char for char in text)


def _steers(char: str) -> bool:
    return char != "\n" and unicodedata.category(char) in _STEERING


def to_nowhere() -> None:
    """Let go of stdout: what is still buffered would fail once more, with a traceback, at the end of the process."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
