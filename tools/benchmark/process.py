"""A worker's process: started, asked for one thing at a time, and ended with the process that started it."""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import os
import threading
import traceback
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from types import TracebackType
from typing import Any

from oospec_async.console.event_loop import run_loop
from oospec_async.errors import OospecError
from tools.benchmark.options import Options

_GRACE = 5.0  # seconds for a worker that has nobody to serve any more


@dataclass(frozen=True)
class Spec:
    """What a worker is. ``methods``: full names and base names. ``curve``: of an earlier part of this benchmark."""

    name: str
    methods: dict[str, str]
    options: Options
    sidecar: bool
    drafter: bool
    cores: tuple[int, ...]
    reuse: bool
    curve: list[tuple[int, float]] | None


Job = tuple[str, dict[str, Any]]  # what is asked, and its arguments
Jobs = AsyncIterator[Job]
Say = Callable[[str, Any], None]  # a kind of message (note, answer, refusal, failure) and its content
Work = Callable[[Spec, Jobs, Say], Coroutine[Any, Any, None]]


class WorkerProcess:
    """A child that runs ``work``, which answers once when it is open, and then every job."""

    def __init__(self, work: Work, spec: Spec, note: Callable[[str], None], log: Path) -> None:
        """Starts the process; ``opened`` waits for it. What it prints on its own is added to ``log``."""
        self._name, self._note, self._log = spec.name, note, log
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_run, args=(work, spec, theirs, log))
        self._process.start()
        theirs.close()  # now the end of the process is the end of the pipe

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    def opened(self) -> Any:
        """Wait for the first answer. Raises OospecError, the worker's own reason."""
        return self._answer()

    def ask(self, what: str, **arguments: Any) -> Any:
        """One thing at a time. Raises OospecError if the worker has ended."""
        try:
            self._pipe.send((what, arguments))
        except OSError:
            raise self._ended() from None
        return self._answer()

    def close(self) -> None:
        self._pipe.close()
        self._process.join(_GRACE)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()

    def _answer(self) -> Any:
        while True:
            try:
                kind, content = self._pipe.recv()
            except (EOFError, OSError):
                raise self._ended() from None
            if kind == "note":
                self._note(content)
            elif kind == "refusal":
                raise OospecError(content)
            elif kind == "failure":
                raise OospecError(f"worker {self._name}: {content}; see {self._log}")
            else:
                return content

    def _ended(self) -> OospecError:
        self._process.join()
        return OospecError(
            f"worker {self._name}: its process ended with code {self._process.exitcode}; see {self._log}"
        )

    def __enter__(self) -> WorkerProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _run(work: Work, spec: Spec, pipe: Connection, log: Path) -> None:
    """In the child. Ctrl-C in a terminal is for the main process alone, so this one leaves its session."""
    os.setsid()
    with log.open("ab") as stream:
        for descriptor in (1, 2):
            os.dup2(stream.fileno(), descriptor)
    if spec.cores:  # as many threads as cores, from the first tensor on: torch is not imported yet
        os.sched_setaffinity(0, spec.cores)
        os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), str(len(spec.cores)))

    def say(kind: str, content: Any) -> None:
        pipe.send((kind, content))

    async def serve() -> None:
        await work(spec, _jobs(pipe, asyncio.get_running_loop()), say)

    with contextlib.suppress(OSError):  # nobody is there to be told
        try:
            run_loop(serve())
        except OospecError as error:
            say("refusal", str(error))
        except Exception as error:
            traceback.print_exc()  # into the log
            say("failure", " ".join(f"{type(error).__name__}: {error}".split())[:300])


async def _jobs(pipe: Connection, loop: asyncio.AbstractEventLoop) -> Jobs:
    """Read by a thread of their own: the end of the main process is seen whatever runs."""
    queue: asyncio.Queue[Job] = asyncio.Queue()

    def read() -> None:
        try:
            while True:
                loop.call_soon_threadsafe(queue.put_nowait, pipe.recv())
        finally:
            os._exit(0)  # the main process is gone or through; nothing here is worth saving

    threading.Thread(target=read, daemon=True).start()
    while True:
        yield await queue.get()
