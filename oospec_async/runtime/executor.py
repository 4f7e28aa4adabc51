"""The seam between the event loop and a device: one call at a time, in order, awaited by the loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Protocol, TypeVar

from oospec_async.devices import Device, claim, torch_threads_kept

T = TypeVar("T")


class Executor(Protocol):
    """Runs calls for one device. Calls are short of nothing but time: they touch no asyncio object."""

    async def run(self, call: Callable[[], T]) -> T: ...

    def close(self) -> None: ...


class ThreadExecutor:
    """A thread bound to a device, beside the event loop."""

    def __init__(self, device: Device) -> None:
        self._kept = ExitStack()
        self._kept.enter_context(torch_threads_kept(device))
        self._pool = ThreadPoolExecutor(1, thread_name_prefix=device.name, initializer=claim, initargs=(device,))

    async def run(self, call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._pool, call)

    def close(self, *, wait: bool = True) -> None:
        """Calls that have not begun are dropped. ``wait``: until the running one has ended."""
        self._pool.shutdown(wait=wait, cancel_futures=True)
        self._kept.close()


class InlineExecutor:
    """Runs calls at once, on the caller's thread: for tests, and for models that take no time."""

    async def run(self, call: Callable[[], T]) -> T:
        return call()

    def close(self) -> None:
        return
