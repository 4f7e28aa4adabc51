"""Looking at processes from outside."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import psutil

PATIENCE = 120  # seconds until a test that waits in vain fails


def state(pid: int) -> str:
    """One of psutil's words; of one that is gone, ``dead``."""
    try:
        return str(psutil.Process(pid).status())
    except psutil.NoSuchProcess:
        return psutil.STATUS_DEAD


def gone(pid: int) -> bool:
    """Whether no such process is left, or only a zombie that nobody has waited for."""
    return state(pid) in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not condition():
            await asyncio.sleep(0.001)


def wait_for_end(pid: int) -> None:
    asyncio.run(until(lambda: gone(pid)))
