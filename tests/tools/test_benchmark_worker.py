"""The main process's side of a worker: what it is told, and how it ends."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from helpers.processes import wait_for_end
from oospec_async import OospecError
from tools.benchmark import process
from tools.benchmark.options import Options
from tools.benchmark.process import Jobs, Say, Spec, WorkerProcess


async def cannot_open(spec: Spec, jobs: Jobs, say: Say) -> None:
    say("note", "loading")
    raise OospecError("x: lacks y")


async def has_a_fault(spec: Spec, jobs: Jobs, say: Say) -> None:
    raise KeyError("x")


async def dies(spec: Spec, jobs: Jobs, say: Say) -> None:
    say("answer", "open")
    await anext(jobs)
    os._exit(3)


async def hangs(spec: Spec, jobs: Jobs, say: Say) -> None:
    say("answer", "open")
    while True:
        signal.pause()  # the whole process, and the thread that sees the end of the pipe


def worker_of(work: process.Work, tmp_path: Path, told: list[str]) -> WorkerProcess:
    spec = Spec("main", {"ar": "ar"}, Options(devices="cpu"), False, False, (), False, None)
    return WorkerProcess(work, spec, told.append, tmp_path / "log")


def test_a_worker_that_cannot_open_or_dies_is_told_in_one_line(tmp_path: Path) -> None:
    told: list[str] = []
    with worker_of(cannot_open, tmp_path, told) as worker:
        with pytest.raises(OospecError, match=r"^x: lacks y$"):
            worker.opened()
        assert told == ["loading"]
    with (
        worker_of(has_a_fault, tmp_path, told) as worker,
        pytest.raises(OospecError, match=r"^worker main: KeyError: 'x'; see .*log$"),
    ):
        worker.opened()
    assert "Traceback" in (tmp_path / "log").read_text()
    with worker_of(dies, tmp_path, told) as worker:
        assert worker.opened() == "open"
        for _ in range(2):
            with pytest.raises(OospecError, match=r"^worker main: its process ended with code 3; see .*log$"):
                worker.ask("begin")


def test_a_worker_that_does_not_end_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_GRACE", 0.0)
    worker = worker_of(hangs, tmp_path, [])
    worker.opened()
    worker.close()
    wait_for_end(worker.pid)
