"""Check and measure the engine on a machine's own devices: `python -m tools.gpu_check [--devices cuda:0,cuda:1]`.

Needs no network and no weights: every model is made of random ones. Four checks: ids against `transformers`' greedy
loop, the target and a real sidecar process together, verify time by tree size, host time between rounds.
"""

from __future__ import annotations

import datetime
import json
import platform
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import torch
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from oospec_async.console.command import run_command
from oospec_async.console.event_loop import run_loop
from oospec_async.console.options import PATH
from oospec_async.console.output import print_line, stdout
from oospec_async.console.table import print_table
from oospec_async.devices import Device, default_devices, parse_devices
from oospec_async.errors import OospecError
from oospec_async.files.writing import check_writable, write_atomically
from oospec_async.recording.provenance import software
from oospec_async.runtime.executor import ThreadExecutor
from oospec_async.weights.load import check_device
from tools.gpu_checks import host_time, ids, verify_time, workers
from tools.gpu_checks.base import PRESETS, Bench, Check, Outcome, one_line

CHECKS: dict[str, Check] = {
    "ids": ids.check,
    "workers": workers.check,
    "verify time": verify_time.check,
    "host time": host_time.check,
}


def chosen_devices(names: str) -> tuple[Device, Device]:
    """Raises OospecError for a name that is no device, and for a CUDA device that is not there."""
    devices = parse_devices(names)
    for device in devices:
        check_device(device.torch_name)
    return devices


def hardware(device: Device) -> str:
    if device.name.startswith("cuda"):
        return str(torch.cuda.get_device_name(device.name))
    return platform.processor() or platform.machine()


@dataclass(frozen=True)
class Done:
    """A check that was made."""

    outcome: Outcome
    seconds: float

    def as_json(self) -> dict[str, Any]:
        outcome = self.outcome
        return {"result": outcome.result, "reason": outcome.reason, "seconds": self.seconds, **outcome.figures}


async def run_check(check: Check, bench: Bench) -> Done:
    """Whatever a check raises is its failure, not that of the others."""
    start = time.monotonic()
    try:
        outcome = await check(bench)
    except Exception as error:
        outcome = Outcome(False, {}, reason=one_line(error))
    return Done(outcome, round(time.monotonic() - start, 1))


async def run(devices: tuple[Device, Device], shapes: str, out: Path, progress: Progress) -> dict[str, Done]:
    """Make every check; the file is written anew after each, so that a machine that goes away leaves the rest."""
    about = {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "shapes": shapes,
        "devices": [{"name": device.name, "hardware": hardware(device)} for device in devices],
        "software": {**software(), "cuda": torch.version.cuda},
    }
    done: dict[str, Done] = {}
    task = progress.add_task("", total=len(CHECKS))

    def say(text: str, share: float) -> None:
        progress.update(task, description=text, completed=len(done) + share, refresh=True)

    torch.set_float32_matmul_precision("highest")  # no TF32
    executor = ThreadExecutor(devices[0])
    try:
        for name, check in CHECKS.items():
            done[name] = await run_check(check, Bench(devices, executor, PRESETS[shapes], say))
            checks = {key: part.as_json() for key, part in done.items()}
            report = {**about, "complete": len(done) == len(CHECKS), "checks": checks}
            write_atomically(out, json.dumps(report, indent=1) + "\n", "--out")
    finally:
        executor.close()
    say("done", 0.0)
    return done


def print_done(done: dict[str, Done], devices: tuple[Device, Device]) -> None:
    console = stdout()
    names = dict.fromkeys(f"{device.name} ({hardware(device)})" for device in devices)
    print_line(console, f"Measured on {', '.join(names)}, torch {torch.__version__}")
    for part in done.values():
        for made in part.outcome.tables:
            console.print()
            print_table(console, made)
    console.print()
    for name, part in done.items():
        reason = f": {part.outcome.reason}" if part.outcome.reason else ""
        print_line(console, f"{name}: {part.outcome.result}{reason} ({part.seconds} s)")


@click.command()
@click.option("--devices", help="TARGET[,SIDECAR]: cuda:N, or cpu:N with --shapes tiny. Default: what is there.")
@click.option("--out", default="gpu_check.json", show_default=True, type=PATH)
@click.option("--shapes", type=click.Choice(list(PRESETS)), help="Default: full on a CUDA device, else tiny.")
def command(devices: str | None, out: Path, shapes: str | None) -> int:
    """Check that outputs are transformers' own on these devices, and measure what rounds cost there.

    Exit code 1 if a check does not hold, or could not be made; in bfloat16 rows that differ are listed and no failure.
    """
    chosen = chosen_devices(devices or default_devices())
    cuda = chosen[0].name.startswith("cuda")
    shapes = shapes or ("full" if cuda else "tiny")
    if shapes == "full" and not cuda:
        raise OospecError(
            f"--shapes full: takes a CUDA device, and the target's is {chosen[0].name}; use --shapes tiny"
        )
    check_writable(out, "--out")
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    # Drawn when something is said, never by a thread of its own: that would disturb what is measured.
    with Progress(*columns, console=Console(stderr=True), auto_refresh=False) as progress:
        done = run_loop(run(chosen, shapes, out, progress))
    print_done(done, chosen)
    return 1 if any(part.outcome.holds is False for part in done.values()) else 0


def main(argv: Sequence[str] | None = None) -> int:
    """0: all checks hold, 1: one does not, 2: bad input, which one line on stderr names, 130: interrupted."""
    return run_command(command, "python -m tools.gpu_check", argv)


if __name__ == "__main__":
    sys.exit(main())
