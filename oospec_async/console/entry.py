"""The entries of the commands: everything is imported within their reach, so that an early Ctrl-C ends cleanly too."""

from __future__ import annotations

import importlib
import os
import sys
import threading
from typing import NoReturn


def main() -> None:
    enter("oospec-run", "oospec_async.commands.cli")


def enter(program: str, module: str) -> None:
    """Run the ``main`` of a module that is imported only now; 130 is the exit code of Ctrl-C.

    A thread that is still at work, loading a model say, does not keep a command that has failed from ending.
    """
    hold_streams()
    try:
        importlib.import_module(module).main()
    except KeyboardInterrupt:
        print(f"{program}: interrupted", file=sys.stderr)
        _leave(130)
    except SystemExit as stop:
        if stop.code in (2, 130):
            _leave(int(stop.code))
        raise


def hold_streams() -> None:
    """Where whoever started this has closed a stream, the next file opened would be taken for it."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def _leave(code: int) -> NoReturn:
    """Exit; at once where the interpreter would wait for a thread."""
    others = set(threading.enumerate()) - {threading.current_thread()}
    if any(not thread.daemon for thread in others):
        from oospec_async.console.command import flush_streams

        flush_streams()
        os._exit(code)
    sys.exit(code)
