"""The sidecar's own process: reads jobs as JSON lines from stdin, publishes hints, reports waves on stdout.

Started as ``python -m oospec_async.runtime.sidecar_worker CONFIG``. It ends when its stdin ends, so it never outlives
its parent.
"""

from __future__ import annotations

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
from oospec_async.request import Request
from oospec_async.runtime.channel import CHANNEL_SIZE, Address, HintWriter
from oospec_async.runtime.devices import claim, parse_device
from oospec_async.runtime.recorder import Event


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
    reports = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # whatever a library prints must not be taken for a report
    jobs = _Jobs(sys.stdin)
    try:
        sidecar, example = _load(config)
    except Exception as error:  # said by the parent, in one line
        reason = str(error) if isinstance(error, OospecError) else f"sidecar {config['name']}: {error!r}"
        print(json.dumps({"fatal": " ".join(reason.split())}), file=reports)
        return
    writer = HintWriter(memoryview(mmap.mmap(config["channel"], CHANNEL_SIZE)))
    print(json.dumps({"ready": os.getpid()}), file=reports)
    while True:
        job = jobs.waves.get()
        report = _run(job, sidecar, example, writer, jobs.cancelled)
        print(json.dumps(report), file=reports)


def _load(config: dict[str, Any]) -> tuple[Any, str]:
    device = parse_device(config["device"])
    claim(device)
    from oospec_async.models.codec import TokenizerCodec
    from oospec_async.models.greedy import end_tokens
    from oospec_async.models.guide import Guide
    from oospec_async.models.load import load
    from oospec_async.models.tree_model import TreeModel
    from oospec_async.models.wave import Sidecar
    from oospec_async.wave.questions import EXAMPLE

    adapter = Path(config["adapter"]) if config["adapter"] else None
    loaded = load(
        Path(config["path"]), name=config["name"], dtype=config["dtype"], device=device.torch_name, adapter=adapter
    )
    model, codec = TreeModel(loaded.model), TokenizerCodec(loaded.tokenizer)
    ends = end_tokens(loaded.model.generation_config, config["name"])
    guide = Guide(codec, model.vocabulary, device.torch_name)
    return Sidecar(model, codec, guide, ends), "" if adapter else EXAMPLE


def _run(job: dict[str, Any], sidecar: Any, example: str, writer: HintWriter, cancelled: set[int]) -> dict[str, Any]:
    """One wave. Whatever goes wrong in it becomes part of the report."""
    from oospec_async.models.wave import Wave

    address = Address(job["serial"])
    start = last = time.monotonic_ns()
    events: list[Event] = []
    error = ""
    try:
        request = Request.model_validate(job["request"])
        steps = Wave(sidecar, request, example).run()
        while address.request not in cancelled and (progress := next(steps, None)) is not None:
            now = time.monotonic_ns()
            counts = {"tokens": progress.tokens} if progress.kind == "prefill" else {"branches": progress.tokens}
            events.append(Event("sidecar", progress.kind, last, now, request.id, "", counts))
            if progress.hint is not None:
                size = writer.publish(address, progress.hint, now)
                if size is None:
                    error = "a hint was too large for the channel"
                    continue
                data = {"version": progress.hint.version, "bytes": size, "ready": progress.hint.ready_slots}
                events.append(Event("channel", "publish", now, now, request.id, "", data))
            last = now
    except Exception as failure:  # a wave is advice: it may fail, the process stays
        error = f"{type(failure).__name__}: {failure}"
    done = {"start_ns": start, "end_ns": time.monotonic_ns(), "cancelled": address.request in cancelled, "error": error}
    cancelled.discard(address.request)
    return {"serial": address.request, **done, "events": [asdict(event) for event in events]}


if __name__ == "__main__":
    main()
