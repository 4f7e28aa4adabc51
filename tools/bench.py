"""Time methods against each other on the same requests, and check that they give the same ids.

    python tools/bench.py REQUESTS.jsonl [--methods generate,ar,toolspec,oospec] [--runs 3] [--rows ROWS.jsonl]

Runs are interleaved: in each run every request is served by every method in turn, so that a machine that drifts slows
all of them alike. ``generate`` is ``transformers``' own greedy loop on the same weights. Each run begins with a cold
history. Every row is written to ROWS.jsonl as it ends.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, TextIO

import click
import torch
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from rich.text import Text

from oospec_async import Engine, EngineConfig, OospecError, Request, read_requests
from oospec_async.decoding.drafters import takes_hints
from oospec_async.models.target import Target
from oospec_async.runtime.loop import run_loop
from oospec_async.summary import departure


@dataclass(frozen=True)
class Row:
    """One request by one method in one run. Times in seconds."""

    run: int
    request: str
    method: str
    tokens: tuple[int, ...]
    margins: tuple[float, ...]  # empty for generate
    first_token_seconds: float
    decode_seconds: float
    rounds: int

    def as_json(self) -> str:
        return json.dumps(self.__dict__)


class _FirstToken:
    """A streamer for ``generate`` that notes when the first token came."""

    def __init__(self) -> None:
        self.prompt_seen = False
        self.at = 0.0

    def put(self, value: torch.Tensor) -> None:
        if self.prompt_seen and not self.at:
            self.at = time.perf_counter()
        self.prompt_seen = True

    def end(self) -> None:
        return


async def generate(engine: Engine, request: Request, run: int) -> Row:
    """``transformers``' greedy output, on the target's own executor."""
    parts = engine.parts
    assert isinstance(parts.target, Target)
    model = parts.target.model.model
    streamer = _FirstToken()

    def call() -> tuple[list[int], float, float]:
        start = time.perf_counter()
        prompt = parts.prompts.ids(request)
        limit = min(request.max_new_tokens, parts.target.context - len(prompt))
        ids = torch.tensor([prompt], device=model.device)
        output = model.generate(
            ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=limit, streamer=streamer
        )
        return output[0, len(prompt) :].tolist(), start, time.perf_counter()

    tokens, start, end = await parts.executor.run(call)
    return Row(run, request.id, "generate", tuple(tokens), (), streamer.at - start, end - streamer.at, len(tokens) - 1)


async def rows_of(engine: Engine, requests: list[Request], methods: list[str], runs: int) -> AsyncIterator[Row]:
    for run in range(runs):
        engine.forget()
        for request in requests:
            for method in methods:
                if method == "generate":
                    yield await generate(engine, request, run)
                    continue
                done = await engine.generate(request, method)
                yield Row(
                    run,
                    request.id,
                    method,
                    done.tokens,
                    done.margins,
                    done.metrics.first_token_seconds,
                    done.metrics.decode_seconds,
                    done.metrics.rounds,
                )


def differences(rows: list[Row], reference: str) -> dict[str, list[dict[str, Any]]]:
    """For each method the requests whose ids are not the reference's, where they depart, and the logit gap there."""
    truth = {row.request: row for row in rows if row.method == reference}
    found: dict[str, dict[str, dict[str, Any]]] = {row.method: {} for row in rows if row.method != reference}
    for row in rows:
        position = departure(row.tokens, truth[row.request].tokens)
        if row.method == reference or position is None:
            continue
        gap = row.margins[position] if position < len(row.margins) else None
        found[row.method][row.request] = {"request": row.request, "position": position, "gap": gap}
    return {method: list(entries.values()) for method, entries in found.items()}


def summary(rows: list[Row], methods: list[str]) -> dict[str, dict[str, Any]]:
    """Per method: total decode and first-token seconds (median over runs, with their spread), rounds, tokens."""
    runs = sorted({row.run for row in rows})
    result: dict[str, dict[str, Any]] = {}
    for method in methods:
        decode = [sum(r.decode_seconds for r in rows if r.method == method and r.run == run) for run in runs]
        first = [sum(r.first_token_seconds for r in rows if r.method == method and r.run == run) for run in runs]
        mine = [row for row in rows if row.method == method and row.run == runs[0]]
        tokens, rounds = sum(len(row.tokens) for row in mine), sum(row.rounds for row in mine)
        result[method] = {
            "decode_seconds": median(decode),
            "decode_spread": (max(decode) - min(decode)) / median(decode),
            "first_token_seconds": median(first),
            "tokens": tokens,
            "rounds": rounds,
            "mean_accepted": (tokens - len(mine)) / rounds if rounds else 0.0,
        }
    plain = min((result[m]["decode_seconds"] for m in ("generate", "ar") if m in result), default=None)
    for figures in result.values():
        figures["decode_speedup"] = plain / figures["decode_seconds"] if plain else None
    return result


def print_result(console: Console, figures: dict[str, dict[str, Any]], setup: str, runs: int, requests: int) -> None:
    table = Table(title=Text(f"{requests} requests, {runs} interleaved runs (medians). Measured: {setup}"))
    for name in (
        "method",
        "decode s",
        "spread",
        "first token s",
        "tokens",
        "rounds",
        "mean accepted",
        "decode speedup",
    ):
        table.add_column(name, justify="left" if name == "method" else "right")
    for method, f in figures.items():
        table.add_row(
            method,
            f"{f['decode_seconds']:.1f}",
            f"{f['decode_spread']:.1%}",
            f"{f['first_token_seconds']:.1f}",
            str(f["tokens"]),
            str(f["rounds"]),
            f"{f['mean_accepted']:.2f}",
            f"{f['decode_speedup']:.2f}x" if f["decode_speedup"] else "",
        )
    console.print(table)
    console.print("decode speedup is over the faster of generate and ar")


async def bench(
    requests: list[Request], methods: list[str], runs: int, config: EngineConfig, rows_file: TextIO | None
) -> tuple[list[Row], str]:
    err = Console(stderr=True)
    async with Engine.open(config, lambda line: err.print(line, style="dim", soft_wrap=True, markup=False)) as engine:
        rows = []
        with Progress(console=err, auto_refresh=False) as progress:  # a refreshing thread would disturb the loop
            task = progress.add_task("rows", total=len(requests) * len(methods) * runs)
            async for row in rows_of(engine, requests, methods, runs):
                rows.append(row)
                if rows_file is not None:
                    print(row.as_json(), file=rows_file, flush=True)
                progress.advance(task)
                progress.refresh()
        assert engine.parts.setup is not None
        return rows, engine.parts.setup.line


@click.command()
@click.argument("requests", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--methods", default="generate,ar,pld,toolspec,oospec", show_default=True)
@click.option("--runs", default=3, show_default=True, type=click.IntRange(min=1))
@click.option("--limit", type=click.IntRange(min=1), help="So many requests of each file.")
@click.option("--devices", help="As for oospec-run.")
@click.option("--dtype", default="bfloat16", show_default=True, type=click.Choice(["bfloat16", "float32", "float16"]))
@click.option("--target", default=EngineConfig.target, show_default=True)
@click.option("--rows", type=click.File("w", lazy=False), help="Write every row here as it ends (JSON Lines).")
@click.option("--json", "as_json", is_flag=True, help="The summary as JSON on stdout.")
def main(
    requests: tuple[Path, ...],
    methods: str,
    runs: int,
    limit: int | None,
    devices: str | None,
    dtype: str,
    target: str,
    rows: TextIO | None,
    as_json: bool,
) -> None:
    """Exit code 1 if, in float32, any output differs from the first method's."""
    names = methods.split(",")
    try:
        if len(set(names)) < len(names):
            raise OospecError(f"--methods {methods}: names a method twice")
        needs_sidecar = any(takes_hints(name) for name in names if name != "generate")
        asked = [request for path in requests for request in read_requests(path)[:limit]]
        if len({request.id for request in asked}) < len(asked):
            raise OospecError("two requests of these files have the same id; ids must differ")
        config = EngineConfig(target=target, devices=devices, dtype=dtype)
        config = config if needs_sidecar else EngineConfig(target=target, sidecar=None, devices=devices, dtype=dtype)
        measured, setup = run_loop(bench(asked, names, runs, config, rows))
    except OospecError as error:
        click.echo(f"bench: {error}", err=True)
        sys.exit(2)
    figures, differing = summary(measured, names), differences(measured, names[0])
    if as_json:
        click.echo(json.dumps({"measured_on": setup, "summary": figures, "differences": differing}))
    else:
        print_result(Console(), figures, setup, runs, len(asked))
        for method, entries in differing.items():
            click.echo(f"{method}: {len(asked) - len(entries)} of {len(asked)} outputs equal {names[0]}'s")
            for entry in entries:
                click.echo(f"  {entry['request']} departs at token {entry['position']}, logit gap {entry['gap']}")
    sys.exit(1 if dtype == "float32" and any(differing.values()) else 0)


if __name__ == "__main__":
    main()
