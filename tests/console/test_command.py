"""How a command ends: its exit code, and at most one line on stderr."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import IO

import click
import pytest

from oospec_async.console.command import run_command
from oospec_async.errors import OospecError


def _raise(error: BaseException) -> Callable[[], int]:
    def act() -> int:
        raise error

    return act


@pytest.mark.parametrize(
    ("act", "code", "line"),
    [
        (lambda: None, 0, ""),
        (lambda: 1, 1, ""),
        (_raise(OospecError("a \x1b[2J name")), 2, "a \\x1b[2J name"),
        (_raise(click.UsageError("one\n  two")), 2, "one two"),
        (_raise(ModuleNotFoundError(name="torch")), 2, "torch is not installed; pip install '.[live]' brings"),
        (_raise(KeyboardInterrupt()), 130, "interrupted"),
    ],
)
def test_what_a_command_does_is_its_exit_code_and_at_most_one_line(
    act: Callable[[], int | None], code: int, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(click.Command("c", callback=act), "tool", []) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"tool: {line}") if line else not err
    assert err.count("\n") == bool(line)


@pytest.mark.parametrize("error", [ModuleNotFoundError(name="oospec_async.gone"), ValueError("a bug")])
def test_what_nobody_can_mend_is_raised(error: Exception) -> None:
    with pytest.raises(type(error)):
        run_command(click.Command("c", callback=_raise(error)), "tool", [])


def _run(act: str, stdout: int | IO[str] = subprocess.PIPE) -> subprocess.CompletedProcess[str]:
    """A command in a process of its own."""
    code = (
        "import sys, click\nfrom oospec_async.console.command import run_command\n"
        "from oospec_async.errors import OospecError\n"
        f"def act():\n    print('before')\n    {act}\n"
        "sys.exit(run_command(click.Command('c', callback=act), 'tool', []))"
    )
    command, buffered = [sys.executable, "-c", code], os.environ | {"PYTHONUNBUFFERED": ""}
    return subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, env=buffered, text=True, check=False)


def test_a_pipe_that_broke_elsewhere_is_not_taken_for_stdout() -> None:
    done = _run("raise BrokenPipeError")
    assert done.returncode == 1
    assert "BrokenPipeError" in done.stderr


@pytest.mark.parametrize(
    ("act", "line"),
    [("print('x')", "stdout: cannot write: No space left on device"), ("raise OospecError('bad input')", "bad input")],
)
def test_a_full_disk_behind_stdout_is_one_line(act: str, line: str) -> None:
    """Also where what is printed waits for the end of the process, and where something else went wrong."""
    with open("/dev/full", "w") as full:
        done = _run(act, full)
    assert (done.returncode, done.stderr) == (2, f"tool: {line}\n")


@pytest.mark.parametrize("entry", ["oospec_async.console.entry", "oospec_async.training.entry"])
def test_whoever_closes_stdout_has_enough(entry: str) -> None:
    read, out = os.pipe()
    os.close(read)
    command = [sys.executable, "-c", f"from {entry} import main; main()", "--help"]
    done = subprocess.run(command, stdout=out, stderr=subprocess.PIPE, text=True, check=False)
    os.close(out)
    assert (done.returncode, done.stderr) == (0, "")
