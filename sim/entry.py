"""The entry of ``oospec-sim``: everything is imported within its reach, so that an early Ctrl-C ends cleanly too."""

from __future__ import annotations

import os
import sys


def main() -> None:
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:  # closed by whoever started it: else the next file opened would be taken for it
            os.open(os.devnull, os.O_RDWR)
    try:
        from sim.cli import main as run

        run()
    except KeyboardInterrupt:
        print("oospec-sim: interrupted", file=sys.stderr)
        sys.exit(130)
