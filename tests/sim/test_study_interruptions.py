"""What is finished stays: after Ctrl-C, a killed worker, a full disk; and two studies do not share a rows file."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from helpers.sim_command import COMMAND, found, spawned, told
from helpers.sim_studies import make_study
from sim.study.rows import open_rows
from sim.study.spec import read_study

LONG = 'trace = "t.json"\n[scenario]\njitter = true\n[grid]\nseed = {}\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return make_study(tmp_path)


def waits_for(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def stopped(scenarios: int, workers: int, stop: Callable[[subprocess.Popen[str]], object]) -> tuple[int, str]:
    """A study that is stopped after some rows: its exit code and what it said. Nothing is on stdout, no row is lost."""
    Path("s.toml").write_text(LONG.format(list(range(scenarios))))
    kept = Path("s.rows.jsonl")
    command = [*COMMAND, "study", "s.toml", "--json", "--workers", str(workers)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        waits_for(lambda: kept.exists() and len(kept.read_bytes().splitlines()) > 3)
        stop(process)
        out, err = process.communicate(timeout=60)
    assert out == ""
    assert "Traceback" not in err
    assert f"{len(kept.read_bytes().splitlines()) - 1} of {scenarios} scenarios are finished" in err
    assert "the same command goes on from there" in err
    return process.returncode, err


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("workers", [1, 2])
def test_an_interrupted_study_goes_on_from_where_it_was(workers: int) -> None:
    code, _ = stopped(120, workers, lambda process: process.send_signal(signal.SIGINT))
    assert code == 130
    assert len(found("study", "s.toml", "--workers", "1")["rows"]) == 120
    assert not Path("s.rows.jsonl").exists()


def test_a_disk_that_fills_up_is_one_line_and_keeps_what_is_finished(folder: Path) -> None:
    whole = found("study", "s.toml")["rows"]
    limit = len(json.dumps(whole[0])) * 3
    code = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))"
    done = spawned("study", "s.toml", "--json", code=code, cwd=folder)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert "s.rows.jsonl: cannot be written: File too large" in line
    finished = len((folder / "s.rows.jsonl").read_bytes().splitlines()) - 1
    assert f"{finished} of 6 scenarios are finished" in line
    assert finished > 0
    assert found("study", "s.toml")["rows"] == whole


def test_rows_that_another_process_writes_are_left_alone(folder: Path) -> None:
    held = open_rows(folder / "s.rows.jsonl", read_study(folder / "s.toml"))
    before = held.path.read_bytes()
    done = spawned("study", "s.toml", cwd=folder)
    assert done.returncode == 2
    assert "another process is writing it" in done.stderr
    assert held.path.read_bytes() == before
    held.close()
    told("study", "s.toml")


def children(pid: int) -> list[int]:
    """Worker processes (not the resource tracker)."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            if int(path.read_text().rsplit(")", 1)[1].split()[1]) == pid:
                found.append(path.parent)
    return [int(each.name) for each in found if b"spawn_main" in (each / "cmdline").read_bytes()]


@pytest.mark.usefixtures("folder")
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
def test_a_killed_worker_ends_the_study_and_keeps_what_is_finished() -> None:
    workers: list[int] = []

    def kill(process: subprocess.Popen[str]) -> None:
        workers.extend(children(process.pid))
        os.kill(workers[0], signal.SIGKILL)

    code, err = stopped(400, 2, kill)
    assert code == 2
    (line,) = err.splitlines()
    assert "--workers 2: a worker process was killed" in line
    assert len(workers) == 2
    waits_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in workers), 10)
