"""The entries of the commands: everything is imported within their reach, so that an early Ctrl-C ends cleanly too."""

from __future__ import annotations

import importlib
import os
import sys


def main() -> None:
    enter("oospec-run", "oospec_async.cli")


def enter(program: str, module: str) -> None:
    """Run the ``main`` of a module that is imported only now; 130 is the exit code of Ctrl-C."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:  # closed by whoever started it: else the next file opened would be taken for it
            os.open(os.devnull, os.O_RDWR)
    try:
        importlib.import_module(module).main()
    except KeyboardInterrupt:
        print(f"{program}: interrupted", file=sys.stderr)
        sys.exit(130)
