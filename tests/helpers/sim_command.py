"""``oospec-sim`` within this process, and in one of its own."""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oospec_async.console.command import run_command
from sim.cli import command

COMMAND = [sys.executable, "-c", "from sim.entry import main; main()"]


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str


def run(*arguments: object) -> Done:
    """In this process."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run_command(command, "oospec-sim", list(map(str, arguments)))
    return Done(code, out.getvalue(), err.getvalue())


def told(*arguments: object) -> str:
    """What a command that succeeds prints on stdout."""
    done = run(*arguments)
    assert done.code == 0, done.err
    return done.out


def found(*arguments: object) -> dict[str, Any]:
    """Its results, as JSON."""
    results: dict[str, Any] = json.loads(told(*arguments, "--json"))
    return results


def refused(*arguments: object) -> str:
    """The one line that a command says to bad input."""
    done = run(*arguments)
    assert (done.code, done.out) == (2, "")
    (line,) = done.err.splitlines()
    assert line.startswith("oospec-sim: ")
    return line


def spawned(*arguments: object, code: str = "", cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """In a process of its own, that runs ``code`` first."""
    command = [*COMMAND[:2], f"{code}{';' if code else ''}{COMMAND[2]}", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, cwd=cwd)
