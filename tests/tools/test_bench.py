"""The whole benchmark on tiny models: killed in the middle, gone on with, and its rows."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import Any

import psutil
import pytest

from helpers import tiny
from helpers.command import model_folder
from helpers.processes import wait_for_end
from helpers.training import read_back
from oospec_async import Engine, EngineConfig
from oospec_async.request import Request
from tools import bench as command
from tools.benchmark import process, session
from tools.benchmark.plan import request_order

METHODS = ("generate", "ar", "toolspec", "toolspec/cold", "oospec", "oospec@perfect", "oospec@never")
QUESTIONS = ("What is the weather in Paris?", "Where is my order?", "What time is it?")
STOP_AFTER = 2 * len(METHODS) + 4  # rows: in the third request of run 0

# The main process tells of its workers, and waits to be killed after so many rows. A budget curve by which every draft
# pays makes what is drafted the same on any machine.
STOPPING = f"""
import sys
from tools import bench
from tools.benchmark import process, rows, session
begin, opened, add = session._open, process.WorkerProcess.opened, rows.RowsFile.add
def beginning(options, plans, log, curves, *more):
    curves["main"] = [(1, 0.01), (64, 0.01)]
    return begin(options, plans, log, curves, *more)
def telling(self):
    found = opened(self)
    print("worker", self.pid, flush=True)
    return found
def stopping(self, row):
    add(self, row)
    if len(self.rows) == {STOP_AFTER}:
        print("stopped", flush=True)
        sys.stdin.readline()
session._open, process.WorkerProcess.opened, rows.RowsFile.add = beginning, telling, stopping
bench.main(sys.argv[1:])
"""


def arguments(folder: Path, *more: str, methods: tuple[str, ...] = METHODS) -> list[str]:
    core = min(os.sched_getaffinity(0))
    return [
        "run", str(folder / "requests_of_it.jsonl"), "--target", str(folder / "tiny-llama"), "--sidecar",
        str(folder / "tiny-sidecar"), "--adapter", "none", "--dtype", "float32", "--devices", f"cpu:{core},cpu:{core}",
        "--runs", "2", "--methods", ",".join(methods), *more,
    ]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    at = tmp_path_factory.mktemp("bench")
    model_folder(at / "tiny-llama")
    model_folder(at / "tiny-sidecar", seed=1)
    asked = [tiny.request(text, id=f"tiny_{n}", max_new_tokens=20) for n, text in enumerate(QUESTIONS)]
    (at / "requests_of_it.jsonl").write_text("".join(f"{request.model_dump_json()}\n" for request in asked))
    return at


def requests(folder: Path) -> list[Request]:
    return command.read_all([folder / "requests_of_it.jsonl"], None, None)[0]


def children(pid: int) -> list[int]:
    return [child.pid for child in psutil.Process(pid).children()]


@pytest.fixture(scope="module")
def finished(folder: Path) -> Path:
    """The rows of a benchmark that was killed in its first run, its last line cut off, and gone on with."""
    rows = folder / "rows.jsonl"
    more = ("--rows", str(rows))
    process = subprocess.Popen(
        [sys.executable, "-c", STOPPING, *arguments(folder, *more)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    with process:
        assert process.stdout is not None
        assert process.stderr is not None
        told = list(takewhile(lambda line: line != "stopped\n", process.stdout))
        assert process.poll() is None, process.stderr.read()
        workers = [int(line.split()[1]) for line in told if line.startswith("worker ")]
        sidecars = [pid for worker in workers for pid in children(worker)]
        assert (len(workers), len(sidecars)) == (1, 1)
        process.send_signal(signal.SIGKILL)
    for pid in (*workers, *sidecars):
        wait_for_end(pid)
    before = rows.read_text()
    assert before.count("\n") == 1 + STOP_AFTER
    rows.write_text(before + before.splitlines()[-1][:50])
    assert command.main(arguments(folder, *more)) == 0
    assert rows.read_text().startswith(before)
    return rows


def test_no_row_is_lost_or_doubled(finished: Path) -> None:
    head, *rows = read_back(finished)
    keys = Counter((row["run"], row["request"], row["method"]) for row in rows)
    assert set(keys.values()) == {1}
    assert len(keys) == 2 * len(QUESTIONS) * len(METHODS)
    assert head["methods"] == list(METHODS)
    assert head["fingerprint"]["dtype"] == "float32"
    assert set(head["categories"].values()) == {"tiny"}
    assert [name for name in head["fingerprint"] if head["fingerprint"][name] is None] == ["adapter", "drafter"]


def test_all_methods_give_the_same_ids_in_all_runs(finished: Path) -> None:
    outputs: dict[str, set[tuple[int, ...]]] = {}
    for row in read_back(finished)[1:]:
        outputs.setdefault(row["request"], set()).add(tuple(row["measured"]["tokens"]))
    assert all(len(each) == 1 for each in outputs.values())


def test_times_and_hints_are_told(finished: Path) -> None:
    for row in read_back(finished)[1:]:
        measured = row["measured"]
        assert 0 < measured["prefill_seconds"] <= measured["first_token_seconds"] < measured["total_seconds"]
        assert measured["total_seconds"] == pytest.approx(measured["first_token_seconds"] + measured["decode_seconds"])
        assert ("host_seconds" in measured) is (row["method"] != "generate")
        assert 0 <= measured.get("host_seconds", 0) < measured["decode_seconds"]
        assert ("hint" in measured) is (row["method"] in ("oospec", "oospec@never"))  # a tiny target calls nothing
        if row["method"] == "oospec@never":
            assert set(measured["hint"]) == {"wave_seconds"}
        if row["method"] in ("generate", "ar"):
            assert measured["rounds"] == len(measured["tokens"]) - 1


def effort(path: Path, method: str) -> dict[tuple[int, str], tuple[int, int]]:
    """Rounds and drafted tokens of a method's rows, by run and request."""
    rows = [row for row in read_back(path)[1:] if row["method"] == method]
    return {
        (row["run"], row["request"]): (row["measured"]["rounds"], row["measured"].get("drafted", 0)) for row in rows
    }


def effort_of_an_engine(path: Path, folder: Path, *, cold: bool = False) -> dict[tuple[int, str], tuple[int, int]]:
    """The same of toolspec, by an engine that serves both runs at once. ``cold``: forgetting before each request."""
    curve = read_back(path)[0]["curves"]["main"]

    async def serve() -> dict[tuple[int, str], tuple[int, int]]:
        found = {}
        config = EngineConfig(
            target=str(folder / "tiny-llama"), sidecar=None, devices="cpu", dtype="float32", method="toolspec"
        )
        async with Engine.open(config) as opened:
            measured = type(opened.parts.curve)(tuple(map(tuple, curve)))
            engine = Engine(replace(opened.parts, curve=measured))
            for run in (0, 1):
                engine.forget()
                for request in request_order(requests(folder), run):
                    if cold:
                        engine.forget()
                    metrics = (await engine.generate(request)).metrics
                    found[run, request.id] = (metrics.rounds, metrics.drafted)
        return found

    return asyncio.run(serve())


def test_what_a_method_has_learned_is_there_after_the_stop(finished: Path, folder: Path) -> None:
    """Rounds of toolspec depend on its memory: they are those of an engine that nobody has stopped."""
    assert effort(finished, "toolspec") == effort_of_an_engine(finished, folder)


def test_a_cold_method_knows_of_no_other_request(finished: Path, folder: Path) -> None:
    cold = effort(finished, "toolspec/cold")
    assert cold == effort_of_an_engine(finished, folder, cold=True)
    assert cold != effort(finished, "toolspec")


def test_a_finished_benchmark_is_only_summed_up(
    finished: Path, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = finished.read_bytes()
    monkeypatch.setattr(session, "WorkerProcess", None)
    more = ("--rows", str(finished), "--json")
    assert command.main(arguments(folder, *more)) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["runs"], found["requests"], found["reference"]) == (2, 3, "generate")
    assert list(found["methods"]) == list(METHODS)
    assert finished.read_bytes() == before


def test_a_finished_benchmark_is_gone_on_with_where_more_runs_are_asked_for(
    finished: Path, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = tmp_path / "rows.jsonl"
    shutil.copy(finished, rows)
    more = ("--rows", str(rows), "--json", "--runs")
    assert command.main(arguments(folder, *more, "3")) == 0
    assert json.loads(capsys.readouterr().out)["runs"] == 3
    (head, *before), (new_head, *after) = read_back(finished), read_back(rows)
    assert new_head == head | {"runs": 3}
    assert after[: len(before)] == before
    assert Counter(row["run"] for row in after) == dict.fromkeys(range(3), len(QUESTIONS) * len(METHODS))
    assert command.main(arguments(folder, *more, "1")) == 2
    assert "--runs 1: " in capsys.readouterr().err


def test_other_requests_are_refused(finished: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    more = ("--rows", str(finished), "--max-new-tokens", "5")
    assert command.main(arguments(folder, *more)) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "holds something else than rows of this benchmark: fingerprint.requests was" in line


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="two cores are joined")
def test_both_cores_and_a_reused_prompt_give_the_same_ids(
    finished: Path, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = sorted(os.sched_getaffinity(0))[:2]
    rows, cores = tmp_path / "rows.jsonl", []
    opened = process.WorkerProcess.opened

    def looking(worker: Any) -> Any:
        found = opened(worker)
        cores.append(os.sched_getaffinity(worker.pid))
        return found

    monkeypatch.setattr(process.WorkerProcess, "opened", looking)
    asked = arguments(folder, "--rows", str(rows), methods=("toolspec/both/reuse",))
    assert command.main([*asked, "--devices", f"cpu:{first},cpu:{second}"]) == 0
    assert cores == [{first, second}]
    truth = {row["request"]: row["measured"]["tokens"] for row in read_back(finished)[1:]}
    found = read_back(rows)[1:]
    assert len(found) == 2 * len(QUESTIONS)
    for row in found:
        assert row["measured"]["tokens"] == truth[row["request"]]
        is_first = request_order(requests(folder), row["run"])[0].id == row["request"]
        assert ("reused_tokens" in row["measured"]) is not is_first
