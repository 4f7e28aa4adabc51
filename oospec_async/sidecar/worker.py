"""The sidecar's own process: reads jobs as JSON lines from stdin, publishes hints, reports waves on stdout.

Started as ``python -m oospec_async.sidecar.worker CONFIG``. It ends when its stdin ends, and the kernel kills
it when the thread that started it ends, so it never outlives its parent, not even where it is stopped.
"""

from __future__ import annotations

import base64
import ctypes
import json
import mmap
import os
import queue
import signal
import sys
import threading
import time
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from oospec_async.errors import OospecError
from oospec_async.events import Event
from oospec_async.hints import encode_hint
from oospec_async.request import Request
from oospec_async.runtime.channel import CHANNEL_SIZE, Address, HintWriter
from oospec_async.runtime.devices import claim, parse_device

_MOST_PAYLOADS = 1 << 16  # bytes of hints that a report repeats: its line must stay within what the parent reads


class _Jobs:
    """Jobs from the parent, read on a thread of their own so that a cancellation is seen while a wave runs."""

    def __init__(self, lines: IO[str]) -> None:
        self.waves: queue.Queue[dict[str, Any]] = queue.Queue()
        self.cancelled: set[int] = set()
        self._lines = lines
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        try:
            for line in self._lines:
                job = json.loads(line)
                if "cancel" in job:
                    self.cancelled.add(job["cancel"])
                else:
                    self.waves.put(job)
        finally:
            os._exit(0)  # the parent is gone, perhaps in the middle of a line; nothing here is worth saving


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides when this process ends
    config = json.loads(sys.argv[1])
    _die_with(config["parent"])
    reports = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # whatever a library prints must not be taken for a report
    jobs = _Jobs(sys.stdin)
    try:
        sidecar = _load(config)
    except Exception as error:  # said by the parent, in one line
        reason = str(error) if isinstance(error, OospecError) else f"sidecar {config['name']}: {error!r}"
        print(json.dumps({"fatal": " ".join(reason.split())}), file=reports)
        return
    writer = HintWriter(memoryview(mmap.mmap(config["channel"], CHANNEL_SIZE)))
    print(json.dumps({"ready": os.getpid()}), file=reports)
    while True:
        job = jobs.waves.get()
        report = _run(job, sidecar, writer, jobs.cancelled)
        print(json.dumps(report), file=reports)


_PR_SET_PDEATHSIG = 1  # <linux/prctl.h>


def _die_with(parent: int) -> None:
    """Be killed when the parent is gone: a process that is stopped does not see its stdin end.

    The kernel counts the thread that started this process as the parent. It is the event loop's; without it nobody
    would read hints.
    """
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # gone before this was asked for
        os._exit(0)


def _load(config: dict[str, Any]) -> Any:
    device = parse_device(config["device"])
    claim(device)
    from oospec_async.sidecar.model import load_sidecar

    adapter = Path(config["adapter"]) if config["adapter"] else None
    return load_sidecar(Path(config["path"]), config["name"], config["dtype"], device.torch_name, adapter)


def _synchronize() -> None:
    """Wait until a GPU has done what it was given, so that its time is counted where it was spent."""
    import torch

    if torch.cuda.is_initialized():
        torch.cuda.synchronize()


def _run(job: dict[str, Any], sidecar: Any, writer: HintWriter, cancelled: set[int]) -> dict[str, Any]:
    """One wave. Whatever goes wrong in it becomes part of the report."""
    from oospec_async.sidecar.wave import Wave

    address = Address(job["serial"])
    start = last = time.monotonic_ns()
    events: list[Event] = []
    payloads: list[tuple[int, bytes]] = []
    error = ""
    try:
        request = Request.model_validate(job["request"])
        steps = Wave(sidecar, request, reuse=job["reuse"]).run()
        while address.request not in cancelled and (progress := next(steps, None)) is not None:
            if progress.kind == "prefill":
                _synchronize()  # nothing of it was read yet; of a step the tokens were
            begun, last = last, time.monotonic_ns()
            counts = {"tokens": progress.tokens, "branches": progress.branches, "context": progress.context}
            events.append(Event("sidecar", progress.kind, begun, last, request.id, "", counts))
            if progress.hint is not None:
                size = writer.publish(address, progress.hint, last)
                if size is None:
                    error = "a hint was too large for the channel"
                    continue
                data = {"version": progress.hint.version, "bytes": size, "ready": progress.hint.ready_slots}
                events.append(Event("channel", "publish", last, last, request.id, "", data))
                if sum(len(payload) for _, payload in payloads) + size <= _MOST_PAYLOADS:
                    payloads.append((progress.hint.version, encode_hint(progress.hint)))
    except Exception as failure:  # a wave is advice: it may fail, the process stays
        error = f"{type(failure).__name__}: {failure}"
    done = {"start_ns": start, "end_ns": time.monotonic_ns(), "cancelled": address.request in cancelled, "error": error}
    for old in tuple(cancelled):  # serials ascend; a cancellation may come after its wave's report
        if old <= address.request:
            cancelled.discard(old)
    hints = [{"version": version, "payload": base64.b64encode(payload).decode()} for version, payload in payloads]
    return {"serial": address.request, **done, "events": [asdict(event) for event in events], "hints": hints}


if __name__ == "__main__":
    main()
