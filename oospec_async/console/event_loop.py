"""Run a coroutine on the fastest event loop that is installed, and end it in order when it is asked to end."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
from collections.abc import Coroutine, Iterator
from importlib.util import find_spec
from types import FrameType
from typing import Any, TypeVar

from oospec_async.console.command import flush_streams

T = TypeVar("T")


def run_loop(main: Coroutine[Any, Any, T]) -> T:
    """As ``asyncio.run``, on uvloop where there is one.

    SIGTERM cancels ``main`` as Ctrl-C does, so that it can close what it has opened; then the process ends by that
    signal.
    """
    factory = asyncio.new_event_loop
    if find_spec("uvloop") is not None:
        import uvloop

        factory = uvloop.new_event_loop
    told: list[int] = []

    async def terminable() -> T:
        with _terminated(told):
            return await main

    try:
        with asyncio.Runner(loop_factory=factory) as runner:
            return runner.run(terminable())
    finally:
        if told:
            _end_by(told[0])


@contextlib.contextmanager
def _terminated(told: list[int]) -> Iterator[None]:
    """SIGTERM cancels the current task and is noted in ``told``, unless somebody has other plans for it."""
    on_main = threading.current_thread() is threading.main_thread()
    if not on_main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None

    def terminate(number: int, frame: FrameType | None) -> None:
        told.append(number)
        loop.call_soon_threadsafe(task.cancel)

    signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """For work that blocks the loop: Ctrl-C and SIGTERM end it at once, as a KeyboardInterrupt."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def interrupt(number: int, frame: FrameType | None) -> None:
        before = handlers[signal.Signals(number)]
        if callable(before):
            before(number, frame)
        raise KeyboardInterrupt

    for number, handler in handlers.items():
        if callable(handler):
            signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number, handler in handlers.items():
            if callable(handler):
                signal.signal(number, handler)


def _end_by(number: int) -> None:
    """End the process by a signal, as its parent expects of one that was sent it."""
    flush_streams()
    signal.signal(number, signal.SIG_DFL)
    signal.raise_signal(number)
