"""The main process's side of a worker: what it is told, and how it ends."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from helpers import bench
from helpers.processes import wait_for_end
from oospec_async import OospecError


def worker_of(code: str, tmp_path: Path, told: list[str]) -> Any:
    """A WorkerProcess whose process is this Python; ``read`` gives it the next line of its stdin."""
    spec = bench.module("worker").Spec(
        name="main", methods={"ar": "ar"}, options={"devices": "cpu"}, sidecar=False, drafter=False, cores=(),
        reuse=False, curve=None, history=tmp_path,
    )  # fmt: skip
    body = f"import sys\ndef read(): return sys.stdin.readline()\ndef say(text): print(text, flush=True)\n{code}"
    command_ = (sys.executable, "-c", body)
    return bench.module("process").WorkerProcess(spec, told.append, tmp_path / "log", command=command_)


def test_a_worker_that_cannot_open_or_dies_is_told_in_one_line(tmp_path: Path) -> None:
    told: list[str] = []
    with worker_of("""read(); say('{"note": "loading"}'); say('{"fatal": "x: lacks y"}')""", tmp_path, told) as worker:
        with pytest.raises(OospecError, match=r"^x: lacks y$"):
            worker.opened()
        assert told == ["loading"]
    with (
        worker_of("""read(); say('{"fatal": "KeyError: x", "unexpected": true}')""", tmp_path, told) as worker,
        pytest.raises(OospecError, match=r"^worker main: KeyError: x; see .*log$"),
    ):
        worker.opened()
    with worker_of("""read(); say('{"opened": {"curve": []}}'); read(); sys.exit(3)""", tmp_path, told) as worker:
        assert worker.opened() == {"curve": []}
        with pytest.raises(OospecError, match=r"^worker main: its process ended with code 3; see .*log$"):
            worker.ask({"begin": 0})
        with pytest.raises(OospecError, match="ended with code 3"):
            worker.ask({"begin": 0})


def test_a_worker_that_does_not_end_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench.module("process"), "_GRACE", 0.0)
    worker = worker_of("""say('{"opened": {}}')\nimport signal\nwhile True: signal.pause()""", tmp_path, [])
    worker.opened()
    worker.close()
    wait_for_end(worker.pid)
