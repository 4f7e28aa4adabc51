"""Looking at processes from outside."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

PATIENCE = 120  # seconds until a test that waits in vain fails


def state(pid: int) -> str:
    """One letter, as the kernel has it: ``T`` is stopped, ``Z`` and ``X`` are dead."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "X"


def gone(pid: int) -> bool:
    """Whether no such process is left, or only a zombie that nobody has waited for."""
    return state(pid) in "ZX"


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not condition():
            await asyncio.sleep(0.001)
