"""The seam between the event loop and a device: one call at a time, in order, awaited by the loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from typing import ParamSpec, Protocol, TypeVar

from oospec_async.devices import Device, claim, torch_threads_kept

P = ParamSpec("P")
T = TypeVar("T")


class Executor(Protocol):
    """Runs calls for one device. Calls are short of nothing but time: they touch no asyncio object."""

    async def run(self, function: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T: ...

    def close(self) -> None: ...


class ThreadExecutor:
    """A thread bound to a device, beside the event loop."""

    def __init__(self, device: Device) -> None:
        self._kept = ExitStack()
        self._kept.enter_context(torch_threads_kept(device))
        self._pool = ThreadPoolExecutor(1, thread_name_prefix=device.name, initializer=claim, initargs=(device,))

    async def run(self, function: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._pool, partial(function, *arguments, **options))

    def close(self, *, wait: bool = True) -> None:
        """Calls that have not begun are dropped. ``wait``: until the running one has ended."""
        self._pool.shutdown(wait=wait, cancel_futures=True)
        self._kept.close()


class InlineExecutor:
    """Runs calls at once, on the caller's thread: for tests, and for models that take no time."""

    async def run(self, function: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T:
        return function(*arguments, **options)

    def close(self) -> None:
        return
