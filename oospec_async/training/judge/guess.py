"""Run a sidecar's waves over requests and keep what they end with: what evaluation judges."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path

from oospec_async.devices import claim, default_devices, parse_devices
from oospec_async.errors import OospecError
from oospec_async.hints import Hint, encode_hint
from oospec_async.request import Request
from oospec_async.sidecar.loading import load_sidecar
from oospec_async.sidecar.shipped_adapters import find_adapter
from oospec_async.sidecar.wave import Sidecar, Wave
from oospec_async.training.records import Object
from oospec_async.training.stage import Growing, check_output, read_asked
from oospec_async.training.teach.teacher import asked, unanswered
from oospec_async.weights.adapters import SHIPPED, check_named, describe_adapter
from oospec_async.weights.fetch import resolve
from oospec_async.weights.load import check_device


@dataclass(frozen=True)
class GuessOptions:
    """``adapter``: a directory in peft format, ``shipped`` or ``none``."""

    requests: Path
    out: Path
    sidecar: str
    adapter: str = SHIPPED
    devices: str | None = None
    dtype: str = "bfloat16"


def guess(options: GuessOptions) -> None:
    """Append a line a request: ``id``, ``asked``, ``calls``, ``bytes``, ``seconds``, ``prefix`` and ``steps``.

    A request that has a line is skipped. Raises OospecError; what was guessed before stays in the file.
    """
    check_output(options.out, options.requests)
    _, device = parse_devices(options.devices or default_devices())
    check_device(device.torch_name)
    check_named(options.adapter)
    requests = read_asked(options.requests)
    files = resolve(options.sidecar)
    adapter = find_adapter(options.adapter, files, lambda line: print(line, file=sys.stderr))
    said = {
        "sidecar": options.sidecar,
        "adapter": describe_adapter(adapter) if adapter else None,
        "dtype": options.dtype,
    }
    fields = ("id", "asked", "calls", "bytes")
    output = Growing(options.out, "guess", said, [options.requests], fields, lambda rows: {"requests": len(rows)})
    with output.opened() as (journal, bar):
        if todo := unanswered(requests, journal.rows):
            bar.console.print(f"sidecar: {files.line}", style="dim", markup=False, soft_wrap=True)
            claim(device)
            sidecar = load_sidecar(files.path, options.sidecar, options.dtype, device.torch_name, adapter)
            for request in bar.track(todo, description="waves"):
                journal.add(guessed(sidecar, request))


def guessed(sidecar: Sidecar, request: Request) -> Object:
    """The last hint of a wave over a request; no calls where there are no tools or the wave cannot be run."""
    last, prefix, steps = Hint(()), 0, 0
    begin = time.perf_counter()
    error = ""
    try:
        for step in Wave(sidecar, request).run():
            last = step.hint or last
            prefix, steps = (step.tokens, steps) if step.kind == "prefill" else (prefix, steps + 1)
    except OospecError as refused:
        error = str(refused)
    calls = [{"name": c.function, "arguments": c.arguments, "omitted": sorted(c.omitted)} for c in last.calls]
    row: Object = {"id": request.id, "asked": asked(request), "calls": calls, "bytes": len(encode_hint(last))}
    row |= {"seconds": round(time.perf_counter() - begin, 4), "prefix": prefix, "steps": steps}
    return {**row, "error": error} if error else row
