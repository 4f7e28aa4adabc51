"""``oospec-run`` within this process, what it refuses, and rows of requests."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

from oospec_async.commands import cli

GOOD: dict[str, Any] = {"messages": [{"role": "user", "content": "hi"}], "tools": [{"name": "f", "parameters": {}}]}


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """Exit code, stdout, stderr."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["oospec-run", *map(str, arguments)])
        code: Any = 0
        try:
            cli.main()
        except SystemExit as stop:
            code = stop.code
    return code, *capsys.readouterr()


def refused(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """The one line that a refused command prints; lines of progress aside."""
    code, out, err = run(capsys, *arguments)
    assert code == 2, err
    assert out == ""
    assert "Traceback" not in err
    (line,) = [line for line in err.splitlines() if line.startswith("oospec-run:")]
    assert err.rstrip().endswith(line)
    return line


def row(**changes: Any) -> bytes:
    return json.dumps({**GOOD, **changes}).encode()
