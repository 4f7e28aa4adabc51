"""Fetch models ahead of time: `python tools/fetch_models.py [MODEL ...]`; by default the default pair."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from oospec_async.console.command import run_command
from oospec_async.weights.fetch import DEFAULT_SIDECAR, DEFAULT_TARGET, fetch_models


@click.command()
@click.argument("names", nargs=-1, metavar="[MODEL]...")
def command(names: tuple[str, ...]) -> None:
    """Fetch every MODEL, a Hugging Face id or a directory, so that later runs find it; default: those of oospec-run."""
    fetch_models(names or (DEFAULT_TARGET, DEFAULT_SIDECAR))


def main(argv: Sequence[str] | None = None) -> int:
    """0: done, 2: bad input, which one line on stderr names, 130: interrupted."""
    return run_command(command, "fetch_models.py", argv)


if __name__ == "__main__":
    sys.exit(main())
