"""What the host costs between two forwards of the target: `python tools/bench_host.py [--json]`.

The real engine, loop and executor thread run on a stand-in for the target whose forwards take no time, so all that is
left is ours: committing, polling, drafting, and handing over between the loop and the thread. The figures are of the
machine that this runs on.
"""

from __future__ import annotations

import asyncio
import gc
import json
import platform
import statistics
import sys
from collections.abc import Callable

import click
from benchmark.methods.bounds import KnownHint
from host_bench.cases import cases
from host_bench.measure import Samples, measure, measure_poll, measure_switch
from host_bench.scripted import GivenPrompts, ScriptedTarget
from host_bench.tokens import tokenizer
from rich.console import Console

from oospec_async.console.output import stdout
from oospec_async.console.table import Table, print_table
from oospec_async.decoding.tree import VerifyCurve
from oospec_async.request import Json
from oospec_async.runtime.devices import Device
from oospec_async.runtime.engine import Engine
from oospec_async.runtime.executor import ThreadExecutor
from oospec_async.runtime.parts import Parts

METHODS = ("toolspec", "oospec")
_KEYS = ("median", "p99", "max")
_LIMITS = {"median": 1.0, "p99": 5.0}  # ms between rounds that we aim for
_POLL_LIMIT = 5.0  # µs


def summary(samples: Samples) -> dict[str, dict[str, float]]:
    found = {}
    for name, values in samples.items():
        ordered = sorted(values)
        p99 = ordered[min(len(ordered) - 1, round(0.99 * (len(ordered) - 1)))]
        figures = {"median": statistics.median(ordered), "p99": p99, "max": ordered[-1]}
        found[name] = {key: round(value, 4) for key, value in figures.items()}
    return found


def run(count: int) -> dict[str, Json]:
    """All figures. ``count``: requests per method."""
    loop_factory, loop_name = _loop()
    codec, name, end = tokenizer()
    given = cases(codec, count)
    methods = {}
    for method in METHODS:
        executor = ThreadExecutor(Device("cpu"))
        sidecar = KnownHint({case.request.id: case.hint for case in given})
        target = ScriptedTarget(given, end)
        engine = Engine(
            Parts(
                target=target,
                executor=executor,
                prompts=GivenPrompts(given),
                codec=codec,
                curve=VerifyCurve(),
                sidecar=sidecar,
                method=method,
                record=True,
            )
        )
        gc.collect()
        with asyncio.Runner(loop_factory=loop_factory) as runner:
            samples = runner.run(measure(engine, given))
            samples["switch alone"] = runner.run(measure_switch(executor))
        executor.close()
        rounds = len(samples["between"])
        tokens = sum(len(case.output) for case in given) - len(given)  # those of the prefills aside
        methods[method] = {
            "rounds": rounds,
            "tokens_per_round": round(tokens / rounds, 2),
            "ms": summary(samples),
        }
    return {
        "requests": count,
        "mean_output_tokens": round(statistics.mean(len(case.output) for case in given), 1),
        "tokenizer": name,
        "loop": loop_name,
        "machine": f"{platform.machine()}, Python {platform.python_version()}",
        "methods": methods,
        "poll_us": summary(measure_poll()),
    }


def _loop() -> tuple[Callable[[], asyncio.AbstractEventLoop], str]:
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop, "asyncio"
    return uvloop.new_event_loop, "uvloop"


def show(figures: dict[str, Json], console: Console) -> None:
    rows = [
        [method, phase, *(f"{times[key]:.3f} ms" for key in _KEYS)]
        for method, found in figures["methods"].items()
        for phase, times in found["ms"].items()
    ]
    polls = figures["poll_us"].items()
    rows += [["poll", what, *(f"{times[key]:.2f} µs" for key in _KEYS)] for what, times in polls]
    title = "Host time between two forwards of the target"
    print_table(console, Table(title, ["method", "phase", *_KEYS], rows, first=2))
    console.print(
        f"{figures['requests']} requests a method, outputs of {figures['mean_output_tokens']} tokens on average, "
        f"tokenizer: {figures['tokenizer']}; {figures['loop']}, {figures['machine']}"
    )
    for method, found in figures["methods"].items():
        console.print(f"{method}: {found['rounds']} rounds, {found['tokens_per_round']} tokens a round")
        for key, limit in _LIMITS.items():
            if found["ms"]["between"][key] > limit:
                console.print(f"{method}: {key} between rounds is over {limit} ms")
    if figures["poll_us"]["nothing new"]["median"] > _POLL_LIMIT:
        console.print(f"a poll that finds nothing takes over {_POLL_LIMIT} µs")


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--requests", "count", default=400, show_default=True, type=click.IntRange(min=1), help="For each method."
)
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
def main(count: int, as_json: bool) -> None:
    """Measure what the host costs between two forwards of the target, without a model."""
    figures = run(count)
    if as_json:
        json.dump(figures, sys.stdout, indent=2, ensure_ascii=False)
        print()
    else:
        show(figures, stdout())


if __name__ == "__main__":
    main()
