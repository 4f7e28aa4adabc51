"""The parent's side of the sidecar: start its process, hand it waves, restart it when it dies."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import mmap
import os
import signal
import sys
from collections.abc import Sequence

from oospec_async.errors import OospecError
from oospec_async.events import WaveReport
from oospec_async.request import Request
from oospec_async.sidecar.channel import CHANNEL_SIZE, Address, HintReader
from oospec_async.sidecar.messages import Cancel, Fatal, Job, Message, Ready, Report, SidecarConfig, Startup, read_said

_COMMAND = (sys.executable, "-P", "-m", "oospec_async.sidecar.worker")
_BACK_OFF = (0.5, 1.0, 2.0, 5.0, 15.0, 30.0)  # seconds before a restart, by failures in a row
_GRACE = 1.0  # seconds for a worker that has closed its output before it was ready
_FULL_PIPE = 1 << 20  # bytes that wait for a worker which does not read; no further jobs are sent then
_LINE_LIMIT = 1 << 18  # bytes of a report; an honest one has some thousands


def _shared_memory(size: int) -> int:
    """A file descriptor of memory that no process can shrink: reading a page that is gone would end the reader."""
    memory = os.memfd_create("oospec-hints", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(memory, size)
    fcntl.fcntl(memory, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
    return memory


class SidecarProcess:
    """A SidecarPort whose waves run in a child process.

    Whatever happens to the child (killed, stopped, stuck, flooding), no call here raises or waits for it but ``start``,
    ``wave`` (which a round never awaits) and, for a moment, ``close``.
    """

    def __init__(
        self, config: SidecarConfig, *, command: Sequence[str] = _COMMAND, back_off: Sequence[float] = _BACK_OFF
    ) -> None:
        """``command`` starts a worker, its configuration appended; ``back_off``: seconds before each restart."""
        self._config = config
        self._command = command
        self._back_off = back_off
        self._channel = _shared_memory(CHANNEL_SIZE)
        self._block = mmap.mmap(self._channel, CHANNEL_SIZE)
        self._reader = HintReader(memoryview(self._block))
        self._process: asyncio.subprocess.Process | None = None
        self._ready = False
        self._waiting: dict[int, asyncio.Future[WaveReport | None]] = {}
        self._supervisor: asyncio.Task[None] | None = None
        self._useful = False  # this worker has reported a wave
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

    async def wave(self, address: Address, request: Request, *, reuse: bool = False) -> WaveReport | None:
        process = self._process
        if process is None or process.stdin is None or not self._ready:
            return None
        if process.stdin.transport.get_write_buffer_size() > _FULL_PIPE:
            return None
        report: asyncio.Future[WaveReport | None] = asyncio.get_running_loop().create_future()
        self._waiting[address.request] = report
        self._send(process, Job(serial=address.request, reuse=reuse, request=request))
        try:
            return await report
        except asyncio.CancelledError:
            self._send(process, Cancel(cancel=address.request))
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
        if self._channel >= 0:
            os.close(self._channel)
            self._channel = -1
            self._reader.detach()
            self._block.close()

    async def _supervise(self, started: asyncio.Future[None]) -> None:
        failures = 0
        while True:
            self._useful = False
            try:
                process = await self._spawn()
            except OSError as error:
                ending = f"its process cannot be started: {error}"
            else:
                ending = f"its process ended with code {await self._live(process, started)}"
            if not started.done():
                started.set_exception(OospecError(f"sidecar {self._config.name}: {ending}"))
            if started.cancelled() or started.exception() is not None:
                return  # start() has failed: nobody waits for a worker
            failures = 0 if self._useful else failures + 1
            await asyncio.sleep(self._back_off[min(failures, len(self._back_off) - 1)])
            self.restarts += 1

    async def _live(self, process: asyncio.subprocess.Process, started: asyncio.Future[None]) -> int:
        """Serve with a worker until it ends. Returns its exit code."""
        try:
            await self._listen(process, started)
            if not started.done():  # its exit code will be told: let it come to its own end
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(process.wait(), _GRACE)
        finally:
            self._ready, self._process = False, None
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)  # it leads a session: whatever it started ends too
            await process.communicate()  # what it left unread would keep it from being waited for
            for report in self._waiting.values():
                if not report.done():
                    report.set_result(None)
        assert process.returncode is not None
        return process.returncode

    async def _spawn(self) -> asyncio.subprocess.Process:
        startup = Startup(config=self._config, channel=self._channel, parent=os.getpid())
        return await asyncio.create_subprocess_exec(
            *self._command,
            startup.line(),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            pass_fds=(self._channel,),
            start_new_session=True,  # Ctrl-C in a terminal is for the parent alone
            limit=_LINE_LIMIT,
        )

    async def _listen(self, process: asyncio.subprocess.Process, started: asyncio.Future[None]) -> None:
        """Take the worker's reports until it ends, or writes a line without an end."""
        assert process.stdout is not None
        self._process = process
        while True:
            try:
                line = await process.stdout.readline()
            except ValueError:  # beyond the limit
                return
            if not line:
                return
            await asyncio.sleep(0)  # a flood must not keep the loop from its rounds
            match read_said(line):
                case Ready():
                    self._ready = True
                    if not started.done():
                        started.set_result(None)
                case Fatal(fatal=reason) if not started.done():
                    started.set_exception(OospecError(reason))
                    started.exception()  # seen, also where start() was cancelled
                case Report() as report:
                    waiting = self._waiting.get(report.serial)
                    if waiting is not None and not waiting.done():
                        waiting.set_result(report.believed())
                        self._useful = True

    def _send(self, process: asyncio.subprocess.Process, message: Message) -> None:
        assert process.stdin is not None
        with contextlib.suppress(OSError, RuntimeError):  # it may have died this very moment
            process.stdin.write(message.line().encode())
