"""A trace with its times replaced by measured ones."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from itertools import cycle, islice

import torch

from oospec_async.decoding.tree import VerifyCurve
from oospec_async.devices import Device
from oospec_async.recording.provenance import software
from oospec_async.trace import (
    Origin,
    PrefillSample,
    Provenance,
    RequestTrace,
    Timing,
    Trace,
    VerifySample,
    Wave,
)
from tools.gpu_check import hardware


def retimed(request: RequestTrace, wave: Wave | None, before: float) -> RequestTrace:
    """The request with its wave's new times. Rounds were observed with other ones, and go."""
    if wave is None:
        return request.model_copy(update={"before": before, "rounds": []})
    at: dict[int, float] = {}
    now = wave.start
    for step in wave.steps:
        now += step.seconds
        if step.publishes is not None:
            at[step.publishes] = max(now, 0.0)
    publishes = [publish.model_copy(update={"seconds": at[publish.version]}) for publish in request.publishes]
    return request.model_copy(update={"before": before, "rounds": [], "wave": wave, "publishes": publishes})


def provenance(trace: Trace, devices: tuple[Device, Device], names: tuple[str, str], curve: VerifyCurve) -> Provenance:
    """That of the trace, its times now recorded."""
    old = trace.provenance
    where = [f"{device.name} ({hardware(device)})" for device in devices]
    shown = ", ".join(f"{size}: {seconds * 1e3:.2f}" for size, seconds in curve.samples)
    how = "tools/record_gpu_timing.py, every forward of the trace once, in its size, alone on its device"
    parts = {name: origin for name, origin in old.parts.items() if name != "rounds"} | {
        "target timing": Origin(
            kind="recorded",
            how=f"{how}: random weights in the shape of {names[0]}, bfloat16, on {where[0]}; a round keeps a path of "
            f"four rows and verifies a binary tree. The profiles keep their budget curve; this GPU's is, in ms "
            f"by tokens: {shown}",
        ),
        "sidecar timing": Origin(
            kind="recorded",
            how=f"{how}: random weights in the shape of {names[1]}, bfloat16, on {where[1]}; tokens are picked and "
            f"answers looked at as in a wave",
        ),
        "host timing": Origin(
            kind="recorded",
            how=f"tools/record_gpu_timing.py: the engine with all drafters and a small sidecar's process over scripted "
            f"calls in a byte-level tokenizer, forwards those of {names[0]}; link: hints written and read in one "
            f"process",
        ),
    }
    infos = {
        "target": old.target.model_copy(update={"source": "random weights of this shape", "device": where[0]}),
        "sidecar": old.sidecar
        and old.sidecar.model_copy(update={"source": "random weights of this shape", "device": where[1]}),
    }
    versions = {**old.software, **software()}
    if torch.version.cuda is not None:
        versions["cuda"] = torch.version.cuda
    date = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    return old.model_copy(update={"parts": parts, **infos, "software": versions, "date": date})


def assembled(
    trace: Trace,
    prefills: list[PrefillSample],
    verifies: list[VerifySample],
    waves: Sequence[Wave],
    host: Trace,
) -> Trace:
    """Host times were measured on other requests than the trace's: they go round among these."""
    starts = cycle([request.wave.start for request in host.requests if request.wave is not None] or [0.0])
    befores = cycle([request.before for request in host.requests])
    new_waves = iter(waves)
    requests = []
    for request in trace.requests:
        wave = next(new_waves).model_copy(update={"start": next(starts)}) if request.wave is not None else None
        requests.append(retimed(request, wave, next(befores)))
    names = islice(cycle(request.request for request in trace.requests), len(host.timing.host))
    timing = Timing(
        target_prefill=prefills,
        target_verify=verifies,
        sidecar_prefill=[],
        sidecar_step=[],
        host=[
            sample.model_copy(update={"request": name}) for name, sample in zip(names, host.timing.host, strict=True)
        ],
        link=list(host.timing.link),
    )
    for request in requests:
        if request.wave is not None:
            timing.add_wave(request.request, request.wave)
    return trace.model_copy(update={"requests": requests, "timing": timing})
