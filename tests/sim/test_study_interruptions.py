"""What is finished stays: after Ctrl-C, a killed worker, a full disk; and two studies do not share a rows file."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from helpers.sim_studies import make_study
from helpers.sim_studies import run_study as run
from sim.study.rows import open_rows
from sim.study.spec import read_study


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_study(tmp_path)


def waits_for(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.parametrize("workers", ["1", "2"])
def test_an_interrupted_study_goes_on_from_where_it_was(folder: Path, workers: str) -> None:
    seeds = ", ".join(str(seed) for seed in range(120))
    (folder / "s.toml").write_text(
        f'name = "long"\ntrace = "t.json"\n[scenario]\njitter = true\n[grid]\nseed = [{seeds}]\n'
    )
    code = "from sim.entry import main; main()"
    command = [sys.executable, "-c", code, "study", "s.toml", "--json", "--workers", workers]
    kept = folder / "s.rows.jsonl"
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        waits_for(lambda: kept.exists() and len(kept.read_bytes().splitlines()) > 3)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert out == ""
    assert "Traceback" not in err
    assert "the same command goes on from there" in err
    finished = len(kept.read_bytes().splitlines()) - 1
    assert f"{finished} of 120" in err
    again = run(folder, "--json", "--workers", "1")
    assert len(json.loads(again.stdout)["rows"]) == 120
    assert not kept.exists()


def test_a_disk_that_fills_up_is_one_line_and_keeps_what_is_finished(folder: Path) -> None:
    whole = json.loads(run(folder, "--json").stdout)["rows"]
    limit = len(json.dumps(whole[0])) * 3
    code = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}));"
    command = [sys.executable, "-c", f"{code} from sim.entry import main; main()", "study", "s.toml", "--json"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert "s.rows.jsonl: cannot be written: File too large" in line
    finished = len((folder / "s.rows.jsonl").read_bytes().splitlines()) - 1
    assert f"{finished} of 6 scenarios are finished" in line
    assert finished > 0
    assert json.loads(run(folder, "--json").stdout)["rows"] == whole


def test_rows_that_another_process_writes_are_left_alone(folder: Path) -> None:
    held = open_rows(folder / "s.rows.jsonl", read_study(folder / "s.toml"))
    before = held.path.read_bytes()
    done = run(folder)
    assert done.returncode == 2
    assert "another process is writing it" in done.stderr
    assert held.path.read_bytes() == before
    held.close()
    assert run(folder).returncode == 0


LONG = f'name = "long"\ntrace = "t.json"\n[scenario]\njitter = true\n[grid]\nseed = {list(range(400))}\n'
COMMAND = [sys.executable, "-c", "from sim.entry import main; main()", "study", "s.toml", "--json", "--workers", "2"]


def children(pid: int) -> list[int]:
    """Worker processes (not the resource tracker)."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            if int(path.read_text().rsplit(")", 1)[1].split()[1]) == pid:
                found.append(path.parent)
    return [int(each.name) for each in found if b"spawn_main" in (each / "cmdline").read_bytes()]


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
def test_a_killed_worker_ends_the_study_and_keeps_what_is_finished(folder: Path) -> None:
    (folder / "s.toml").write_text(LONG)
    kept = folder / "s.rows.jsonl"
    with subprocess.Popen(COMMAND, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        waits_for(lambda: kept.exists() and len(kept.read_bytes().splitlines()) > 3)
        workers = children(process.pid)
        os.kill(workers[0], signal.SIGKILL)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 2
    assert out == ""
    (line,) = err.splitlines()
    assert "--workers 2: a worker process was killed" in line
    assert f"{len(kept.read_bytes().splitlines()) - 1} of 400" in line
    assert len(workers) == 2
    waits_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in workers), 10)
