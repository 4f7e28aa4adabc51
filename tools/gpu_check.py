"""See that ids are the same on a GPU, and measure a trace's times there: `python -m tools.gpu_check TRACE --out MINE`.

Needs no network and no weights. First tiny models decode by several methods, the sidecar in its own process on the
other device, and are held against `transformers`' own `generate`. Then every forward of the trace is made, in its size,
by models of random weights in the shapes of the trace's. Outputs, profiles, hints and host times stay as they are.
"""

from __future__ import annotations

import datetime
import platform
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import TypeVar

import click
import torch
from rich.console import Console
from rich.progress import Progress

from oospec_async.commands.summary import departure
from oospec_async.console.command import run_command
from oospec_async.console.event_loop import run_loop
from oospec_async.console.options import COUNT, PATH
from oospec_async.console.output import COUNTED, print_line, stdout
from oospec_async.console.table import Table, print_table
from oospec_async.decoding.tree import VerifyCurve
from oospec_async.devices import Device, default_devices, parse_devices
from oospec_async.errors import OospecError
from oospec_async.files.writing import check_writable
from oospec_async.recording.provenance import software
from oospec_async.runtime.config import EngineConfig
from oospec_async.runtime.engine import Engine
from oospec_async.runtime.executor import ThreadExecutor
from oospec_async.trace import (
    ModelInfo,
    Origin,
    Provenance,
    Trace,
    Wave,
    read_trace,
    write_trace,
)
from oospec_async.weights.load import check_device
from tools.gpu_timing import SidecarClock, TargetClock
from tools.model_shapes import SHAPES, TINY, Shape
from tools.soaking import models

METHODS = ("ar", "toolspec", "oospec")
T = TypeVar("T")


async def differing(devices: tuple[Device, Device]) -> list[str]:
    """Outputs in float32 that are not generate's, a line each. Raises OospecError if the engine cannot be opened."""
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        made = models.make(Path(folder), devices[0].torch_name)
        config = EngineConfig(
            target=str(made.target),
            sidecar=str(made.sidecar),
            adapter="none",
            devices=",".join(device.name for device in devices),
            dtype="float32",
        )
        async with Engine.open(config) as engine:
            for method in METHODS:
                for request in made.requests:
                    done = await engine.generate(request, method)
                    position = departure(done.tokens, made.expected[request.id])
                    if position is not None:
                        gap = f"{done.margins[position]:.5f}" if position < len(done.margins) else "unknown"
                        lines.append(f"{request.id} by {method}: token {position}, logit gap {gap}")
    return lines


def shape_of(info: ModelInfo, shapes: str) -> Shape:
    """Raises OospecError for a model whose sizes are not known here."""
    if shapes == "tiny":
        return TINY
    found = SHAPES.get(info.name.rsplit("/", 1)[-1])
    if found is None:
        raise OospecError(f"provenance: the shape of {info.name!r} is unknown; known are {', '.join(SHAPES)}")
    return found


def first_requests(trace: Trace, limit: int | None) -> Trace:
    """The trace with its first ``limit`` requests only."""
    requests = trace.requests[:limit]
    names = {request.request for request in requests}
    kept = {
        name: [sample for sample in getattr(trace.timing, name) if sample.request in names]
        for name in ("target_prefill", "target_verify", "sidecar_prefill", "sidecar_step", "host")
    }
    return trace.model_copy(update={"requests": requests, "timing": trace.timing.model_copy(update=kept)})


async def on(device: Device, call: Callable[[], T]) -> T:
    """Run on the device as an engine's executor does, which pins cores."""
    executor = ThreadExecutor(device)
    try:
        return await executor.run(call)
    finally:
        executor.close()


def timed_target(trace: Trace, shape: Shape, device: str, done: Callable[[], object]) -> tuple[Trace, VerifyCurve]:
    """The trace with the target's times here, and the budget curve as it would be here."""
    clock, timing = TargetClock(shape, device, trace), trace.timing
    prefills = [_counted(clock.prefill(sample), done) for sample in timing.target_prefill]
    verifies = [_counted(clock.verify(sample), done) for sample in timing.target_verify]
    timing = timing.model_copy(update={"target_prefill": prefills, "target_verify": verifies})
    return trace.model_copy(update={"timing": timing}), clock.target.calibrate()


def timed_sidecar(trace: Trace, shape: Shape, device: str, done: Callable[[], object]) -> Trace:
    """The trace with the waves' times here; rounds were observed with other ones, and go."""
    clock, requests = SidecarClock(shape, device, trace), []
    timing = trace.timing.model_copy(update={"sidecar_prefill": [], "sidecar_step": []})
    for request in trace.requests:
        made: dict[str, object] = {"rounds": []}
        if request.wave is not None:
            wave = request.wave.model_copy(update={"steps": [clock.step(step) for step in request.wave.steps]})
            at = _published(wave)
            publishes = [each.model_copy(update={"seconds": at[each.version]}) for each in request.publishes]
            made |= {"wave": wave, "publishes": publishes}
            timing.add_wave(request.request, wave)
            done()
        requests.append(request.model_copy(update=made))
    return trace.model_copy(update={"requests": requests, "timing": timing})


def _published(wave: Wave) -> dict[int, float]:
    """When each version of the hint is there."""
    at, now = {}, wave.start
    for step in wave.steps:
        now += step.seconds
        if step.publishes is not None:
            at[step.publishes] = max(now, 0.0)
    return at


def _counted(sample: T, done: Callable[[], object]) -> T:
    done()
    return sample


def hardware(device: Device) -> str:
    if device.name.startswith("cuda"):
        return str(torch.cuda.get_device_name(device.name))
    return platform.processor() or platform.machine()


def provenance(old: Provenance, devices: Sequence[Device], shapes: Sequence[Shape], curve: VerifyCurve) -> Provenance:
    """That of the trace, its forwards now recorded."""
    where = [f"{device.name} ({hardware(device)})" for device in devices]
    shown = ", ".join(f"{size}: {seconds * 1e3:.2f}" for size, seconds in curve.samples)
    how = "tools/gpu_check.py, every forward of the trace once, in its size, alone on its device: random weights in the"
    target = (
        f"{how} shape of {shapes[0].name}, bfloat16, on {where[0]}; a round keeps a path of four rows and verifies a "
        f"binary tree. The profiles keep their budget curve; this device's is, in ms by tokens: {shown}"
    )
    sidecar = (
        f"{how} shape of {shapes[1].name}, bfloat16, on {where[1]}; tokens are picked and answers looked at as in a "
        f"wave"
    )
    parts = {name: origin for name, origin in old.parts.items() if name != "rounds"}
    parts["target timing"] = Origin(kind="recorded", how=target)
    if old.sidecar is not None:
        parts["sidecar timing"] = Origin(kind="recorded", how=sidecar)
    made = [{"source": "random weights of this shape", "device": each} for each in where]
    return old.model_copy(
        update={
            "parts": parts,
            "target": old.target.model_copy(update=made[0]),
            "sidecar": old.sidecar and old.sidecar.model_copy(update=made[1]),
            "software": {**old.software, **software()} | ({"cuda": torch.version.cuda} if torch.version.cuda else {}),
            "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        }
    )


async def measure(trace: Trace, devices: tuple[Device, Device], shapes: Sequence[Shape], progress: Progress) -> Trace:
    timing = trace.timing
    total = len(timing.target_prefill) + len(timing.target_verify)
    total += sum(request.wave is not None for request in trace.requests)
    task, count = progress.add_task("forwards", total=total), 0

    def done() -> None:
        nonlocal count
        count += 1
        if count % 20 == 0:  # drawing takes time of the host, which is measured too
            progress.update(task, completed=count, refresh=True)

    first, second = (device.torch_name for device in devices)
    trace, curve = await on(devices[0], partial(timed_target, trace, shapes[0], first, done))
    trace = await on(devices[1], partial(timed_sidecar, trace, shapes[1], second, done))
    progress.update(task, completed=total, refresh=True)
    return trace.model_copy(update={"provenance": provenance(trace.provenance, devices, shapes, curve)})


def verify_times(trace: Trace, device: Device) -> Table:
    by_size: dict[int, list[float]] = {}
    for sample in trace.timing.target_verify:
        by_size.setdefault(sample.tokens, []).append(sample.seconds * 1e3)
    rows = [[str(size), f"{median(times):.2f}", str(len(times))] for size, times in sorted(by_size.items())]
    return Table(f"Verifying a tree on {device.name} ({hardware(device)})", ("tokens", "median ms", "samples"), rows)


@click.command()
@click.argument("trace", type=PATH)
@click.option("--devices", help="TARGET[,SIDECAR]: cuda:N, or cpu with --shapes tiny. Default: what is there.")
@click.option("--out", type=PATH, help="Default: TRACE itself.")
@click.option("--limit", type=COUNT, help="Keep only so many requests.")
@click.option("--shapes", type=click.Choice(["full", "tiny"]), default="full", show_default=True)
def command(trace: Path, devices: str | None, out: Path | None, limit: int | None, shapes: str) -> int:
    """Compare ids, then write TRACE with the times of its forwards on these devices.

    Exit code 1 if an output is not generate's.
    """
    chosen = parse_devices(devices or default_devices())
    for each in chosen:
        check_device(each.torch_name)
        if shapes == "full" and not each.name.startswith("cuda"):
            raise OospecError(f"--shapes full: takes CUDA devices, and {each.name} is none; use --shapes tiny")
    given = first_requests(read_trace(trace), limit)
    info = given.provenance
    sizes = [shape_of(info.target, shapes), shape_of(info.sidecar or info.target, shapes)]
    check_writable(out or trace, "--out")
    torch.set_float32_matmul_precision("highest")  # no TF32
    console, wrong = stdout(), run_loop(differing(chosen))
    # Drawn when something is said, never by a thread of its own: that would disturb what is measured.
    with Progress(*COUNTED, console=Console(stderr=True), auto_refresh=False) as progress:
        try:
            made = run_loop(measure(given, chosen, sizes, progress))
        except torch.OutOfMemoryError as error:
            raise OospecError(f"--devices: too small for these models: {str(error).splitlines()[0]}") from None
    write_trace(made, out or trace)
    print_table(console, verify_times(made, chosen[0]))
    for line in wrong:
        print_line(console, f"output differs from generate's: {line}", "red")
    same = "some outputs are not generate's" if wrong else f"all outputs by {', '.join(METHODS)} are generate's"
    print_line(console, f"{same}; {out or trace}: {len(made.requests)} requests")
    return 1 if wrong else 0


def main(argv: Sequence[str] | None = None) -> int:
    """0: ids are the same, 1: some are not, 2: bad input, which one line on stderr names, 130: interrupted."""
    return run_command(command, "python -m tools.gpu_check", argv)


if __name__ == "__main__":
    sys.exit(main())
