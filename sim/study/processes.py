"""Processes that work on tasks, each over a pipe of its own.

A pool of the standard library shares queues: a process that is killed in mid-write leaves the reader waiting for ever.
Here the end of a process is the end of its pipe.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any, Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")

_PATIENCE = 5  # seconds for a process that was asked to end


class WorkerDied(Exception):
    """A process ended before its task was done."""


class Processes(Generic[T, R]):
    """``count`` processes that run ``function`` (of a module's top level)."""

    def __init__(self, count: int, function: Callable[[T], R]) -> None:
        # Spawned, not forked: threads of this process (progress, BLAS) have no place in a copy.
        context = multiprocessing.get_context("spawn")
        self._pipes: list[Connection] = []
        self._processes: list[Any] = []
        try:
            for _ in range(count):
                ours, theirs = context.Pipe()
                self._pipes.append(ours)
                process = context.Process(target=_serve, args=(theirs, function), daemon=True)
                process.start()
                self._processes.append(process)
                theirs.close()
        except BaseException:
            self.close()
            raise

    def map(self, tasks: Sequence[T]) -> Iterator[R]:
        """Results in the order of tasks. Raises what the function raised, and WorkerDied."""
        waiting = iter(enumerate(tasks))
        working: dict[Connection, int] = {}
        done: dict[int, R] = {}
        for pipe in self._pipes:
            self._next(pipe, waiting, working)
        for wanted in range(len(tasks)):
            while wanted not in done:
                for pipe in [pipe for pipe in wait(list(working)) if isinstance(pipe, Connection)]:
                    done[working.pop(pipe)] = self._result(pipe)
                    self._next(pipe, waiting, working)
            yield done.pop(wanted)

    def close(self) -> None:
        """End all processes, whatever they do."""
        for process in self._processes:
            process.terminate()
        for process in self._processes:
            process.join(_PATIENCE)
            if process.is_alive():
                process.kill()
                process.join()
        for pipe in self._pipes:
            pipe.close()

    @staticmethod
    def _next(pipe: Connection, waiting: Iterator[tuple[int, T]], working: dict[Connection, int]) -> None:
        for index, task in waiting:
            try:
                pipe.send(task)
            except OSError:
                raise WorkerDied from None
            working[pipe] = index
            return

    @staticmethod
    def _result(pipe: Connection) -> R:
        try:
            error, result = pipe.recv()
        except (EOFError, OSError):
            raise WorkerDied from None
        if error is not None:
            raise error
        found: R = result
        return found


def _serve(pipe: Connection, function: Callable[[T], R]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends its processes
    with contextlib.suppress(EOFError, OSError):  # the parent is gone
        while True:
            task = pipe.recv()
            try:
                answer: tuple[Exception | None, R | None] = None, function(task)
            except Exception as error:  # for the parent to raise
                answer = error, None
            pipe.send(answer)
