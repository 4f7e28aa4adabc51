"""What a benchmark runs on, and what makes two of them comparable."""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Sequence
from pathlib import Path

from oospec_async.decoding.drafters.needs import CHAINS, HINTS
from oospec_async.devices import parse_devices
from oospec_async.recording.provenance import software
from oospec_async.request import Request
from oospec_async.sidecar.shipped_adapters import find_adapter
from oospec_async.weights.adapters import describe_adapter
from oospec_async.weights.fetch import resolve
from tools.benchmark.options import Options
from tools.benchmark.plan import Plan
from tools.benchmark.rows import Fingerprint, Weights


def machine() -> str:
    """The processor's name and how many cores this process may use."""
    try:
        lines = Path("/proc/cpuinfo").read_text(errors="replace").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    name = next(names, "") or platform.processor() or platform.machine()
    cores = len(os.sched_getaffinity(0))
    return f"{name}, {cores} core{'s' if cores != 1 else ''}"


def accelerators(devices: str) -> list[str]:
    """Names of the CUDA devices among these. Raises OospecError for one that is not there."""
    names = [device.name for device in dict.fromkeys(parse_devices(devices)) if device.core is None]
    cuda = [name for name in names if name.startswith("cuda")]
    if not cuda:
        return []
    import torch

    from oospec_async.weights.load import check_device

    for name in cuda:
        check_device(name)
    return [str(torch.cuda.get_device_name(name)) for name in cuda]


def fingerprint(options: Options, plans: Sequence[Plan], requests: Sequence[Request]) -> Fingerprint:
    """Of a benchmark on this machine. Models that are not on this disk are fetched.

    Raises OospecError for one that cannot be had.
    """
    hardware = ", ".join([machine(), *accelerators(options.devices)])  # before gigabytes are fetched
    sidecar = any(HINTS in plan.entry.needs for plan in plans)
    drafter = options.draft_model if any(CHAINS in plan.entry.needs for plan in plans) else None
    # What is odd about it says each engine that opens with it.
    adapter = find_adapter(options.adapter, resolve(options.sidecar), lambda line: None) if sidecar else None
    return Fingerprint(
        requests=hashlib.sha256(
            "\n".join(each.model_dump_json(exclude_defaults=True) for each in requests).encode()
        ).hexdigest(),
        target=_weights(options.target),
        sidecar=_weights(options.sidecar) if sidecar else None,
        adapter=describe_adapter(adapter) if adapter is not None else None,
        drafter=_weights(drafter) if drafter is not None else None,
        assistants=[_weights(options.assistant)] if options.assistant is not None else [],
        dtype=options.dtype,
        devices=options.devices,
        machine=hardware,
        software=software(),
    )


def _weights(name: str) -> Weights:
    files = resolve(name)
    return Weights(name=files.name, source=files.source, sha256=files.weights_sha256)


def measured_on(found: Fingerprint) -> str:
    """A fingerprint in one line, for captions."""
    parts = [f"target {_named(found.target)}"]
    if found.sidecar is not None:
        parts.append(f"sidecar {_named(found.sidecar)}" + (f" with {found.adapter}" if found.adapter else ""))
    parts += [f"drafter {_named(found.drafter)}"] if found.drafter is not None else []
    parts += [f"assistant {_named(each)}" for each in found.assistants]
    known = found.software
    versions = ", ".join(f"{name} {known[name]}" for name in ("torch", "transformers") if name in known)
    return f"{', '.join(parts)}; {found.dtype} on {found.devices}; {found.machine}; {versions}"


def _named(weights: Weights) -> str:
    return f"{weights.name} ({weights.source}, SHA-256 {weights.sha256[:8]})"
