"""Processes that work on tasks: order, errors, and a process that is killed."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from sim.study.processes import Processes, WorkerDied


def done(function: Callable[[Any], Any], tasks: Sequence[object], count: int = 2) -> list[object]:
    before = set(multiprocessing.active_children())
    processes = Processes(count, function)
    try:
        return list(processes.map(tasks))
    finally:
        processes.close()
        assert set(multiprocessing.active_children()) == before


def test_results_come_in_the_order_of_tasks_also_with_more_processes_than_tasks() -> None:
    assert done(bytes, [3_000_000, 1, 0, 200_000, 2]) == [bytes(n) for n in (3_000_000, 1, 0, 200_000, 2)]
    assert done(abs, [-1]) == [1]
    assert done(abs, []) == []


def test_what_a_task_raises_is_raised_here() -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        done(int, ["1", "x", "3"])


def test_a_process_that_is_killed_is_told_and_nobody_waits_for_it() -> None:
    with pytest.raises(WorkerDied):
        done(signal.raise_signal, [signal.SIGKILL, signal.SIGKILL, signal.SIGKILL])


def test_processes_end_in_mid_task() -> None:
    processes = Processes(2, bytes)
    results = processes.map([10, 50_000_000, 50_000_000])  # far more than a pipe holds
    assert next(results) == bytes(10)
    processes.close()
