"""Invariant 8: same trace, scenario and seed: byte-identical output, on any number of workers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from helpers.sim_traces import random_requests, trace
from oospec_async.trace import write_trace

STUDY = """
name = "grid"
trace = "t.json"
[scenario]
jitter = true
load = "poisson:rate=3"
[grid]
placement = ["split", "shared", "shared-fair"]
seed = [0, 1, 2]
method = ["toolspec", "oospec"]
[[assert]]
that = "latency.mean > 0"
"""


def run(folder: Path, *arguments: str, hash_seed: str = "0") -> bytes:
    command = [sys.executable, "-c", "from sim.entry import main; main()", *arguments]
    environment = {"PYTHONHASHSEED": hash_seed, "PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("study")
    write_trace(trace(random_requests(8, 4), noise=0.3), folder / "t.json")
    (folder / "s.toml").write_text(STUDY)
    return folder


def test_two_runs_give_the_same_bytes_whatever_the_hash_seed(folder: Path) -> None:
    arguments = ("--trace", "t.json", "--json", "--jitter", "--seed", "7", "--load", "poisson:rate=2")
    assert run(folder, *arguments) == run(folder, *arguments, hash_seed="3")


def test_any_number_of_workers_gives_the_same_bytes(folder: Path) -> None:
    alone = run(folder, "study", "s.toml", "--json", "--workers", "1")
    assert alone.count(b'"scenario"') >= 18
    assert run(folder, "study", "s.toml", "--json", "--workers", "3", hash_seed="5") == alone


def test_reports_and_timelines_are_the_same_bytes_too(folder: Path) -> None:
    for number in ("1", "2"):
        outputs = ("--report", f"r{number}.html", "--timeline", f"t{number}.json")
        run(folder, "--trace", "t.json", *outputs, "--json", hash_seed=number)
    assert (folder / "r1.html").read_bytes() == (folder / "r2.html").read_bytes()
    assert (folder / "t1.json").read_bytes() == (folder / "t2.json").read_bytes()
