"""The sidecar's process with ``stub_worker.py`` for its worker."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from helpers.processes import PATIENCE
from oospec_async.devices import Device
from oospec_async.sidecar.messages import SidecarConfig
from oospec_async.sidecar.process import SidecarProcess

STUB = Path(__file__).with_name("stub_worker.py")
NO_MODEL = SidecarConfig(Path("/nowhere"), "tiny", Device("cpu"), "float32")


def stub_sidecar(misdeed: str) -> SidecarProcess:
    """``misdeed``: one of the stub's."""
    return SidecarProcess(NO_MODEL, command=(sys.executable, str(STUB), misdeed), back_off=(0.0,))


@asynccontextmanager
async def started(sidecar: SidecarProcess) -> AsyncIterator[SidecarProcess]:
    try:
        async with asyncio.timeout(PATIENCE):
            await sidecar.start()
            yield sidecar
    finally:
        await sidecar.close()


async def opened(sidecar: SidecarProcess, use: Callable[[SidecarProcess], Awaitable[Any]]) -> Any:
    """What ``use`` returns of the started sidecar."""
    async with started(sidecar):
        return await use(sidecar)


async def no_use(sidecar: SidecarProcess) -> None:
    """For one that must not start."""
    raise AssertionError("it started")
