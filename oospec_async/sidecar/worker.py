"""The sidecar's own process: reads jobs as JSON lines from stdin, publishes hints, reports waves on stdout.

Started as ``python -m oospec_async.sidecar.worker CONFIG``. It ends when its stdin ends, and the kernel kills
it when the thread that started it ends, so it never outlives its parent, not even where it is stopped.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import queue
import signal
import sys
import threading
import time
from typing import IO, TYPE_CHECKING, Literal

from oospec_async.devices import claim
from oospec_async.errors import OospecError
from oospec_async.hints import encode_hint
from oospec_async.sidecar.channel import CHANNEL_SIZE, Address, HintWriter
from oospec_async.sidecar.messages import (
    Cancel,
    Fatal,
    Job,
    PublishedHint,
    Ready,
    Report,
    ReportedEvent,
    SidecarConfig,
    read_job,
    read_startup,
)

if TYPE_CHECKING:
    from oospec_async.sidecar.wave import Sidecar

_MOST_PAYLOADS = 1 << 16  # bytes of hints that a report repeats: its line must stay within what the parent reads


class _Jobs:
    """Jobs from the parent, read on a thread of their own so that a cancellation is seen while a wave runs."""

    def __init__(self, lines: IO[str]) -> None:
        self.waves: queue.Queue[Job] = queue.Queue()
        self.cancelled: set[int] = set()
        self._lines = lines
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        try:
            for line in self._lines:
                job = read_job(line)
                if isinstance(job, Cancel):
                    self.cancelled.add(job.cancel)
                else:
                    self.waves.put(job)
        finally:
            os._exit(0)  # the parent is gone, perhaps in the middle of a line; nothing here is worth saving


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides when this process ends
    startup = read_startup(sys.argv[1])
    _die_with(startup.parent)
    reports = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # whatever a library prints must not be taken for a report
    jobs = _Jobs(sys.stdin)
    try:
        sidecar = _load(startup.config)
    except Exception as error:  # said by the parent, in one line
        reason = str(error) if isinstance(error, OospecError) else f"sidecar {startup.config.name}: {error!r}"
        reports.write(Fatal(fatal=" ".join(reason.split())).line())
        return
    writer = HintWriter(memoryview(mmap.mmap(startup.channel, CHANNEL_SIZE)))
    reports.write(Ready(ready=os.getpid()).line())
    while True:
        reports.write(_run(jobs.waves.get(), sidecar, writer, jobs.cancelled).line())


_PR_SET_PDEATHSIG = 1  # <linux/prctl.h>


def _die_with(parent: int) -> None:
    """Be killed when the parent is gone: a process that is stopped does not see its stdin end.

    The kernel counts the thread that started this process as the parent. It is the event loop's; without it nobody
    would read hints.
    """
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # gone before this was asked for
        os._exit(0)


def _load(config: SidecarConfig) -> Sidecar:
    claim(config.device)
    from oospec_async.sidecar.loading import load_sidecar  # torch, whose threads are to start on the device's core

    return load_sidecar(config.path, config.name, config.dtype, config.device.torch_name, config.adapter)


def _synchronize() -> None:
    """Wait until a GPU has done what it was given, so that its time is counted where it was spent."""
    import torch

    if torch.cuda.is_initialized():
        torch.cuda.synchronize()


def _run(job: Job, sidecar: Sidecar, writer: HintWriter, cancelled: set[int]) -> Report:
    """One wave. Whatever goes wrong in it becomes part of the report."""
    from oospec_async.sidecar.wave import Wave

    address, request = Address(job.serial), job.request.id
    start = last = time.monotonic_ns()
    events: list[ReportedEvent] = []
    hints: list[PublishedHint] = []
    error = ""

    def note(track: Literal["sidecar", "channel"], name: str, begun: int, **data: int) -> None:
        events.append(ReportedEvent(track=track, name=name, start_ns=begun, end_ns=last, request=request, data=data))

    try:
        steps = Wave(sidecar, job.request, reuse=job.reuse).run()
        while job.serial not in cancelled and (progress := next(steps, None)) is not None:
            if progress.kind == "prefill":
                _synchronize()  # nothing of it was read yet; of a step the tokens were
            begun, last = last, time.monotonic_ns()
            counts = {"tokens": progress.tokens, "branches": progress.branches, "context": progress.context}
            note("sidecar", progress.kind, begun, **counts)
            if (hint := progress.hint) is not None:
                size = writer.publish(address, hint, last)
                if size is None:
                    error = "a hint was too large for the channel"
                    continue
                note("channel", "publish", last, version=hint.version, bytes=size, ready=hint.ready_slots)
                if sum(len(each.payload) for each in hints) + size <= _MOST_PAYLOADS:
                    hints.append(PublishedHint(version=hint.version, payload=encode_hint(hint)))
    except Exception as failure:  # a wave is advice: it may fail, the process stays
        error = f"{type(failure).__name__}: {failure}"
    end, was_cancelled = time.monotonic_ns(), job.serial in cancelled
    for old in tuple(cancelled):  # serials ascend; a cancellation may come after its wave's report
        if old <= job.serial:
            cancelled.discard(old)
    return Report(
        serial=job.serial,
        start_ns=start,
        end_ns=end,
        cancelled=was_cancelled,
        error=error,
        events=events,
        hints=hints,
    )


if __name__ == "__main__":
    main()
