"""The parent's side of the sidecar: start its process, hand it waves, restart it when it dies."""

from __future__ import annotations

import asyncio
import contextlib
import json
import mmap
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oospec_async.errors import OospecError
from oospec_async.request import Request
from oospec_async.runtime.channel import CHANNEL_SIZE, Address, HintReader
from oospec_async.runtime.devices import Device
from oospec_async.runtime.ports import WaveReport
from oospec_async.runtime.recorder import Event

_BACK_OFF = (0.5, 1.0, 2.0, 5.0, 15.0, 30.0)  # seconds before a restart, by failures in a row
_FULL_PIPE = 1 << 20  # bytes that wait for a worker which does not read; no further jobs are sent then
_LINE_LIMIT = 1 << 24


@dataclass(frozen=True)
class SidecarConfig:
    path: Path
    name: str
    device: Device
    dtype: str
    adapter: Path | None = None


class SidecarProcess:
    """A SidecarPort whose waves run in a child process.

    Whatever happens to the child (killed, stopped, stuck, flooding), no call here raises or waits for it but ``start``,
    ``wave`` (which a round never awaits) and, for a moment, ``close``.
    """

    def __init__(self, config: SidecarConfig) -> None:
        self._config = config
        with tempfile.TemporaryFile() as file:
            file.truncate(CHANNEL_SIZE)
            self._channel = os.dup(file.fileno())
        self._block = mmap.mmap(self._channel, CHANNEL_SIZE)
        self._reader = HintReader(memoryview(self._block))
        self._process: asyncio.subprocess.Process | None = None
        self._ready = False
        self._waiting: dict[int, asyncio.Future[WaveReport | None]] = {}
        self._supervisor: asyncio.Task[None] | None = None
        self.restarts = 0

    @property
    def reader(self) -> HintReader:
        return self._reader

    @property
    def pid(self) -> int | None:
        """The worker's process id; None while there is none."""
        return self._process.pid if self._process is not None and self._ready else None

    async def start(self) -> None:
        """Start the worker and wait until its model is loaded. Raises OospecError with the worker's own reason."""
        started: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._supervisor = asyncio.create_task(self._supervise(started))
        await started

    async def wave(self, address: Address, request: Request) -> WaveReport | None:
        process = self._process
        if process is None or process.stdin is None or not self._ready:
            return None
        if process.stdin.transport.get_write_buffer_size() > _FULL_PIPE:
            return None
        report: asyncio.Future[WaveReport | None] = asyncio.get_running_loop().create_future()
        self._waiting[address.request] = report
        self._send(process, {"serial": address.request, "request": request.model_dump(mode="json")})
        try:
            return await report
        except asyncio.CancelledError:
            self._send(process, {"cancel": address.request})
            raise
        finally:
            self._waiting.pop(address.request, None)

    async def close(self) -> None:
        """End the worker at once."""
        if self._supervisor is not None:
            self._supervisor.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._supervisor
            self._supervisor = None
            os.close(self._channel)

    async def _supervise(self, started: asyncio.Future[None]) -> None:
        failures = 0
        while True:
            process = await self._spawn()
            try:
                await self._listen(process, started)
            finally:
                was_ready, self._ready, self._process = self._ready, False, None
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
                code = await process.wait()
                for report in self._waiting.values():
                    if not report.done():
                        report.set_result(None)
            if not started.done():
                started.set_exception(OospecError(f"sidecar {self._config.name}: its process ended with code {code}"))
                return
            failures = 0 if was_ready else failures + 1
            await asyncio.sleep(_BACK_OFF[min(failures, len(_BACK_OFF) - 1)])
            self.restarts += 1

    async def _spawn(self) -> asyncio.subprocess.Process:
        config = self._config
        argument = {
            "path": str(config.path),
            "name": config.name,
            "device": config.device.name,
            "dtype": config.dtype,
            "adapter": str(config.adapter) if config.adapter else None,
            "channel": self._channel,
        }
        return await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "oospec_async.runtime.sidecar_worker",
            json.dumps(argument),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            pass_fds=(self._channel,),
            start_new_session=True,  # Ctrl-C in a terminal is for the parent alone
            limit=_LINE_LIMIT,
        )

    async def _listen(self, process: asyncio.subprocess.Process, started: asyncio.Future[None]) -> None:
        """Take the worker's reports until it ends."""
        assert process.stdout is not None
        self._process = process
        async for line in process.stdout:
            try:
                message = json.loads(line)
                if "fatal" in message and not started.done():
                    started.set_exception(OospecError(message["fatal"]))
                    started.exception()  # seen, also where start() was cancelled
                elif "ready" in message:
                    self._ready = True
                    if not started.done():
                        started.set_result(None)
                elif "serial" in message:
                    self._report(message)
            except (ValueError, TypeError, KeyError):
                continue  # not a report of ours: what the sidecar says is advice

    def _report(self, message: dict[str, Any]) -> None:
        report = self._waiting.get(message["serial"])
        if report is not None and not report.done():
            events = tuple(Event(**event) for event in message["events"])
            times = message["start_ns"], message["end_ns"]
            report.set_result(WaveReport(*times, message["cancelled"], events, message["error"]))

    def _send(self, process: asyncio.subprocess.Process, job: dict[str, Any]) -> None:
        assert process.stdin is not None
        with contextlib.suppress(OSError, RuntimeError):  # it may have died this very moment
            process.stdin.write(json.dumps(job).encode() + b"\n")
