"""Scenarios over processes. Every way of working gives the same rows in the same order."""

from __future__ import annotations

import contextlib
import math
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oospec_async.errors import OospecError
from sim.figures.simulator import open_simulator
from sim.scenario.scenario import Scenario
from sim.study.rows import Row

_FEW = 64  # scenarios that are done here before other processes have started
_CHUNK = 16  # scenarios for which a process opens the trace once


@dataclass(frozen=True)
class Task:
    trace: Path
    colocated: Path | None
    scenarios: Sequence[Scenario]


def work(task: Task) -> list[Row]:
    """Rows of a task's scenarios."""
    return list(work_singly(task))


def work_singly(task: Task) -> Iterator[Row]:
    """The same, each as it is finished."""
    simulator = open_simulator(task.trace, task.colocated)
    for scenario in task.scenarios:
        yield simulator.run(scenario).as_json()


Run = Callable[[Task], Iterator[Row]]
"""Yields a task's rows in order."""


@contextlib.contextmanager
def workers_of(text: str, scenarios: int) -> Iterator[Run]:
    """``text``: a number of processes, ``auto`` or ``ray``. Raises OospecError for anything else, and without ray."""
    if text == "ray":
        with _ray() as pool:
            yield _spread(lambda tasks: pool.imap(work, tasks), os.cpu_count() or 1)
        return
    count = _count(text, scenarios)
    if count == 1:
        yield work_singly
        return
    try:
        with _processes(count) as executor:
            yield _spread(lambda tasks: executor.map(work, tasks), count)
    except BrokenProcessPool:
        raise OospecError(f"--workers {text}: a worker process was killed, or ran out of memory") from None


def _count(text: str, scenarios: int) -> int:
    if text == "auto":
        return len(os.sched_getaffinity(0)) if scenarios > _FEW else 1
    if not text.isdecimal() or int(text) < 1:
        raise OospecError(f"--workers {text}: must be a number of processes, auto or ray")
    return min(int(text), scenarios)


def _spread(in_order: Callable[[Sequence[Task]], Iterator[list[Row]]], count: int) -> Run:
    """``in_order`` works on tasks and gives their rows in the order of tasks."""

    def run(task: Task) -> Iterator[Row]:
        size = min(_CHUNK, max(1, math.ceil(len(task.scenarios) / (2 * count))))
        starts = range(0, len(task.scenarios), size)
        chunks = [Task(task.trace, task.colocated, task.scenarios[start : start + size]) for start in starts]
        for rows in in_order(chunks):
            yield from rows

    return run


@contextlib.contextmanager
def _processes(count: int) -> Iterator[ProcessPoolExecutor]:
    """They end with the context, whatever they do: whoever interrupts a study does not wait for the rows in work."""
    # Spawned, not forked: threads of this process (progress, BLAS) have no place in a copy. Ctrl-C is for the parent.
    context, ignore = multiprocessing.get_context("spawn"), (signal.SIGINT, signal.SIG_IGN)
    before = set(multiprocessing.active_children())
    executor = ProcessPoolExecutor(count, context, initializer=signal.signal, initargs=ignore)
    try:
        yield executor
    finally:
        for process in set(multiprocessing.active_children()) - before:
            process.kill()
        executor.shutdown(cancel_futures=True)


@contextlib.contextmanager
def _ray() -> Iterator[Any]:
    try:
        from ray.util.multiprocessing import Pool  # type: ignore[import-not-found, unused-ignore]
    except ModuleNotFoundError as missing:
        raise OospecError(f"--workers ray: {missing.name} is not installed; pip install '.[ray]' brings it") from None
    pool = Pool()
    try:
        yield pool
    finally:
        pool.terminate()
