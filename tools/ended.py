"""How a tool ends: one line on stderr for what the user can mend."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from oospec_async.errors import OospecError


def exit_code(command: click.Command, name: str, argv: Sequence[str] | None) -> int:
    """Run a command. What it returns (nothing: 0), 2: bad input, which one line on stderr names, 130: interrupted."""
    try:
        return int(command.main(argv, prog_name=name, standalone_mode=False) or 0)
    except (KeyboardInterrupt, click.Abort):
        print("interrupted", file=sys.stderr)
        return 130
    except click.ClickException as error:
        print(f"error: {' '.join(error.format_message().split())}", file=sys.stderr)
        return 2
    except OospecError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
