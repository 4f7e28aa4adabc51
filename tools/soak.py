"""Serve for long under faults, and see what it leaves behind: `python -m tools.soak [--requests 1000]`.

Needs no network and no weights: tiny models, a real sidecar process, a real channel. The sidecar is killed and stopped,
requests are cancelled and left, hints are hostile. Every output is compared with `transformers`' own.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click
import torch
from rich.console import Console
from rich.progress import Progress

from oospec_async.console import options
from oospec_async.console.command import run_command
from oospec_async.console.entry import hold_streams
from oospec_async.console.event_loop import run_loop
from oospec_async.console.output import COUNTED, print_line, stdout
from oospec_async.console.table import Table, print_table
from oospec_async.runtime.config import EngineConfig
from oospec_async.runtime.engine import Engine
from tools.soaking import models
from tools.soaking.footprint import Footprint, descendants, footprint
from tools.soaking.serving import HISTORY, METHODS, Server, Soak, serve_under_hostile_hints

GROWTH = 0.02  # of the memory of all processes, from the first footprint to the last


@dataclass(frozen=True)
class Result:
    """``closed``: when the engine is closed, what this process alone holds; ``left``: processes begun and not ended."""

    soak: Soak
    hints: int
    opened: Footprint  # before the engine was opened
    closed: Footprint
    left: int
    seconds: float

    @property
    def first(self) -> Footprint:
        return self.soak.footprints[0][1]

    @property
    def last(self) -> Footprint:
        return self.soak.footprints[-1][1]

    @property
    def growth(self) -> float:
        return self.last.rss / self.first.rss - 1


def broken(result: Result) -> list[str]:
    """The limits that do not hold, a line each."""
    first, last, done = result.first, result.last, result.soak.done
    found = [f"output differs from generate's: {each}" for each in sorted(set(result.soak.wrong))]
    if result.growth > GROWTH:
        found.append(f"memory has grown by {result.growth:.1%}; the limit is {GROWTH:.0%}")
    for name in ("files", "threads", "processes"):
        before, after = getattr(first, name), getattr(last, name)
        if after > before:
            found.append(f"{name}: {after - before} more than after the first requests")
    if done["sidecars restarted"] < done["sidecars killed"]:
        found.append(f"{done['sidecars killed']} sidecars were killed and {done['sidecars restarted']} restarted")
    if result.closed.files > result.opened.files:
        found.append(f"{result.closed.files - result.opened.files} files are still open after the end")
    if result.left:
        found.append(f"{result.left} processes are left after the end")
    return found


async def soak(requests: int, hints: int, seed: int, progress: Progress) -> Result:
    """Raises OospecError if the engine cannot be opened, or its sidecar does not come back."""
    start, before = time.monotonic(), set(descendants(os.getpid()))
    torch.set_num_threads(1)  # of more, two processes on few cores wait for each other
    making = progress.add_task("making models", total=1)
    with tempfile.TemporaryDirectory() as folder:
        made = await asyncio.to_thread(models.make, Path(folder))
        progress.update(making, completed=1)
        tasks = [progress.add_task("requests", total=requests), progress.add_task("hostile hints", total=hints)]
        core = f"cpu:{min(os.sched_getaffinity(0))}"  # both on one: what is held does not depend on it
        config = EngineConfig(
            target=str(made.target), sidecar=str(made.sidecar), adapter="none", devices=core, dtype="float32"
        )
        await _first_child()
        opened = footprint()
        async with Engine.open(config) as engine:
            server = Server(engine, made, seed, lambda n: progress.update(tasks[0], completed=n))
            done = await server.serve(requests)
            sent, wrong = await serve_under_hostile_hints(
                engine, made, hints, seed, lambda n: progress.update(tasks[1], completed=n)
            )
            done.wrong += wrong
        closed, left = footprint(), len(set(descendants(os.getpid())) - before)
    return Result(done, sent, opened, closed, left, time.monotonic() - start)


async def _first_child() -> None:
    """uvloop opens ``/dev/null`` for its first child, and keeps it for all others."""
    pipe = asyncio.subprocess.PIPE
    child = await asyncio.create_subprocess_exec(sys.executable, "-c", "", stdin=pipe, stdout=pipe)
    await child.communicate()


def print_result(console: Console, result: Result, failures: Sequence[str]) -> None:
    counts = ", ".join(f"{count} {what}" for what, count in sorted(result.soak.done.items()))
    print_line(console, f"{result.soak.served} requests by {', '.join(METHODS)}: {counts}")
    print_line(console, f"{result.hints} hostile hints; {len(result.soak.wrong)} outputs differ from generate's")
    title = f"Held by this process and its sidecar, each remembering {HISTORY} outputs a method"
    heads = ("requests before", "memory MB", "of it the sidecar", "files", "threads", "processes")
    seen = [("before opening", result.opened), *((str(n), each) for n, each in result.soak.footprints)]
    rows = []
    for name, each in [*seen, ("after closing", result.closed)]:
        counted = (each.files, each.threads, each.processes)
        rows.append([name, f"{each.rss / 1e6:.1f}", f"{(each.rss - each.own_rss) / 1e6:.1f}", *map(str, counted)])
    print_table(console, Table(title, heads, rows))
    print_line(
        console, f"memory: {result.growth:+.2%} from the first to the last of these; {result.seconds:.0f} s in all"
    )
    for line in failures:
        print_line(console, f"broken: {line}", "red")
    print_line(console, "some limits are broken" if failures else "all limits hold")


@click.command()
@click.option("--requests", type=click.IntRange(min=2), default=1000, show_default=True)
@click.option("--hints", type=click.IntRange(min=0), default=10_000, show_default=True, help="Hostile ones, after it.")
@options.seed
def command(requests: int, hints: int, seed: int) -> int:
    """Serve tiny models under faults; memory, files, threads and processes are looked at every 100 requests.

    Exit code 1 if an output is wrong, or something is left behind.
    """
    with Progress(*COUNTED, console=Console(stderr=True)) as progress:
        result = run_loop(soak(requests, hints, seed, progress))
    failures = broken(result)
    print_result(stdout(), result, failures)
    return 1 if failures else 0


def main(argv: Sequence[str] | None = None) -> int:
    """0: all limits hold, 1: one is broken, 2: bad input, which one line on stderr names, 130: interrupted."""
    hold_streams()
    return run_command(command, "python -m tools.soak", argv)


if __name__ == "__main__":
    sys.exit(main())
