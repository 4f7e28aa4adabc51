"""Measure a trace's times on a real GPU: `python -m tools.record_gpu_timing TRACE --device cuda:0 [--out OUT]`.

Every forward that the trace names is made again, of the same size, by models of random weights in exactly the shapes of
the trace's target and sidecar (bfloat16): a forward's time does not depend on the weights. Outputs, profiles and hints
stay as they are; the times become recorded ones. Needs no network and no weights.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import click
import torch
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from oospec_async.console.command import run_command
from oospec_async.console.event_loop import run_loop
from oospec_async.console.options import COUNT, PATH
from oospec_async.decoding.tree import VerifyCurve
from oospec_async.devices import Device, parse_device
from oospec_async.errors import OospecError
from oospec_async.files.writing import check_writable
from oospec_async.runtime.executor import ThreadExecutor
from oospec_async.trace import (
    ModelInfo,
    PrefillSample,
    Trace,
    VerifySample,
    Wave,
    read_trace,
    write_trace,
)
from oospec_async.weights.load import check_device
from tools.gpu_check import hardware
from tools.gpu_checks.base import FULL, TINY, Shape, one_line
from tools.gpu_checks.randoms import free
from tools.trace_timing.assemble import assembled, provenance
from tools.trace_timing.host import host_trace
from tools.trace_timing.sidecar import SidecarClock, most_rows
from tools.trace_timing.target import TargetClock, open_target

SHAPES: dict[str, Shape] = {shape.name: shape for shape in FULL.shapes}
_HOST_REQUESTS = {"full": 16, "tiny": 3}
_HOST_CONTEXT = 4096


def shape_of(info: ModelInfo, shapes: str) -> Shape:
    """Raises OospecError for a model whose sizes are not known here."""
    if shapes == "tiny":
        return TINY.shapes[0]
    found = SHAPES.get(info.name.rsplit("/", 1)[-1])
    if found is None:
        raise OospecError(f"provenance: the shape of {info.name!r} is unknown; known are {', '.join(SHAPES)}")
    return found


def first_requests(trace: Trace, limit: int | None) -> Trace:
    """The trace with its first ``limit`` requests only."""
    requests = trace.requests[:limit]
    names = {request.request for request in requests}
    timing = trace.timing
    kept = {
        name: [sample for sample in getattr(timing, name) if sample.request in names]
        for name in ("target_prefill", "target_verify", "sidecar_prefill", "sidecar_step", "host")
    }
    return trace.model_copy(update={"requests": requests, "timing": timing.model_copy(update=kept)})


async def measured_target(
    trace: Trace, shape: Shape, devices: tuple[Device, Device], requests: int, advance: Callable[[], None]
) -> tuple[list[PrefillSample], list[VerifySample], VerifyCurve, Trace]:
    """Prefills and verifications, the budget curve as it is here, and the trace of the scripted requests."""
    timing = trace.timing
    rows = max(
        [_HOST_CONTEXT]
        + [sample.tokens for sample in timing.target_prefill]
        + [sample.context + sample.tokens for sample in timing.target_verify]
    )
    executor = ThreadExecutor(devices[0])
    try:
        target = await executor.run(partial(open_target, shape, devices[0].torch_name, rows))
        clock = await executor.run(partial(TargetClock, target))
        prefills = await executor.run(partial(clock.prefills, timing.target_prefill, advance))
        verifies = await executor.run(partial(clock.verifies, timing.target_verify, advance))
        curve = await executor.run(target.calibrate)
        host = await host_trace(target, executor, devices[1], curve, requests)
    finally:
        executor.close()
    return prefills, verifies, curve, host


def measured_waves(waves: Sequence[Wave], shape: Shape, device: Device, advance: Callable[[], None]) -> list[Wave]:
    if not waves:
        return []
    clock = SidecarClock(shape, device.torch_name, most_rows(waves))
    measured = []
    for wave in waves:
        measured.append(clock.wave(wave))
        advance()
    return measured


async def measure(trace: Trace, devices: tuple[Device, Device], shapes: str, progress: Progress) -> Trace:
    target_shape = shape_of(trace.provenance.target, shapes)
    sidecar_info = trace.provenance.sidecar
    sidecar_shape = shape_of(sidecar_info, shapes) if sidecar_info is not None else None
    waves = [request.wave for request in trace.requests if request.wave is not None]
    forwards = len(trace.timing.target_prefill) + len(trace.timing.target_verify) + len(waves)
    task = progress.add_task("making the target", total=forwards)
    measured = 0

    def advance() -> None:
        nonlocal measured
        measured += 1
        if measured % 20 == 0:  # drawing takes time of the host, which is measured too
            progress.update(task, completed=measured, description="forwards", refresh=True)

    count = _HOST_REQUESTS[shapes]
    prefills, verifies, curve, host = await measured_target(trace, target_shape, devices, count, advance)
    free(devices[0].torch_name)
    if sidecar_shape is not None:
        executor = ThreadExecutor(devices[1])
        try:
            waves = await executor.run(partial(measured_waves, waves, sidecar_shape, devices[1], advance))
        finally:
            executor.close()
    progress.update(task, completed=forwards, description="done", refresh=True)
    return assembled(trace, prefills, verifies, waves, host).model_copy(
        update={
            "provenance": provenance(trace, devices, (target_shape.name, (sidecar_shape or target_shape).name), curve)
        }
    )


@click.command()
@click.argument("trace", type=PATH)
@click.option("--device", default="cuda:0", show_default=True, help="The target's: cuda:N, or cpu with --shapes tiny.")
@click.option("--sidecar-device", help="Default: the target's, after it.")
@click.option("--out", type=PATH, help="Default: TRACE itself.")
@click.option("--limit", type=COUNT, help="Keep only so many requests.")
@click.option("--shapes", type=click.Choice(["full", "tiny"]), default="full", show_default=True)
def command(
    trace: Path, device: str, sidecar_device: str | None, out: Path | None, limit: int | None, shapes: str
) -> None:
    """Make the forwards of TRACE on this machine's GPU and write the trace with their times."""
    devices = parse_device(device), parse_device(sidecar_device or device)
    for each in devices:
        check_device(each.torch_name)
        if shapes == "full" and not each.name.startswith("cuda"):
            raise OospecError(f"--shapes full: takes CUDA devices, and {each.name} is none; use --shapes tiny")
    given = first_requests(read_trace(trace), limit)
    check_writable(out or trace, "trace")
    torch.set_float32_matmul_precision("highest")
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    err = Console(stderr=True)
    # Drawn when something is said, never by a thread of its own: that would disturb what is measured.
    with Progress(*columns, console=err, auto_refresh=False) as progress:
        try:
            made = run_loop(measure(given, devices, shapes, progress))
        except torch.OutOfMemoryError as error:
            raise OospecError(f"--device {device}: too small for these models: {one_line(error)}") from None
    write_trace(made, out or trace)
    print(f"{out or trace}: {len(made.requests)} requests, measured on {hardware(devices[0])}", file=sys.stderr)


def main(argv: Sequence[str] | None = None) -> int:
    """0: done, 2: bad input, which one line on stderr names, 130: interrupted."""
    return run_command(command, "python -m tools.record_gpu_timing", argv)


if __name__ == "__main__":
    sys.exit(main())
