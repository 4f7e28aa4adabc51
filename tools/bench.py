"""Time methods against each other on the same requests, and check that they give the same ids.

    python -m tools.bench run REQUESTS.jsonl [...] [--methods generate,ar,toolspec,oospec] [--runs 3]
    python -m tools.bench report bench.rows.jsonl [--picture bench.svg]
    python -m tools.bench matrix bfcl.rows.jsonl api-bank.rows.jsonl

Every row is saved as it ends: a run that was stopped goes on where it was, by the same command. ``docs/bench.md`` says
what is measured, and how it is kept fair.
"""

from __future__ import annotations

import datetime
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

import click
from pydantic_core import to_json
from rich.console import Console

from oospec_async.commands.model_options import engine_options
from oospec_async.console import options
from oospec_async.console.command import run_command
from oospec_async.console.options import COUNT, PATH, names
from oospec_async.console.output import note, stdout
from oospec_async.console.table import print_table
from oospec_async.decoding.drafters import METHODS as ENGINE_METHODS
from oospec_async.decoding.drafters.needs import CHAINS
from oospec_async.devices import default_devices, parse_devices
from oospec_async.drawing.picture import check_picture
from oospec_async.errors import OospecError
from oospec_async.files.writing import check_outputs, same_file
from oospec_async.request import Request
from oospec_async.request_file import read_requests
from oospec_async.runtime.config import EngineConfig
from tools.benchmark.machine import fingerprint
from tools.benchmark.methods import METHODS
from tools.benchmark.options import Options
from tools.benchmark.plan import DEFAULT_METHODS, SUFFIXES, default_plan, plan
from tools.benchmark.report.figures import summarise
from tools.benchmark.report.matrix import matrix, table
from tools.benchmark.report.picture import draw
from tools.benchmark.report.summary import Summary
from tools.benchmark.report.table import json_of, show
from tools.benchmark.rows import Header, read_rows
from tools.benchmark.session import measure


def read_all(
    paths: Sequence[Path], limit: int | None, max_new_tokens: int | None
) -> tuple[list[Request], dict[str, str]]:
    """The requests of all files, and the category of each. Raises OospecError, also for an id in two files."""
    requests: list[Request] = []
    categories: dict[str, str] = {}
    for path in paths:
        for request in read_requests(path)[:limit]:
            if request.id in categories:
                raise OospecError(f"{path}: id {request.id!r} is in another of these files too; ids must differ")
            categories[request.id] = category(request.id, path)
            update = {} if max_new_tokens is None else {"max_new_tokens": max_new_tokens}
            requests.append(request.model_copy(update=update))
    return requests, categories


def category(request: str, path: Path) -> str:
    """What public sets put before a number (``multiple_12``); else the file's name."""
    name, _, number = request.rpartition("_")
    return name if name and number[:1].isdigit() else path.stem


def summary_of(path: Path) -> Summary:
    """Raises OospecError, one line that begins with the file."""
    contents = read_rows(path)
    try:
        return summarise(contents)
    except OospecError as error:
        raise OospecError(f"{path}: {error}") from None


def conclude(path: Path, as_json: bool, picture: Path | None, err: Console) -> int:
    """Sum up a rows file; the picture first, whatever becomes of stdout. Returns the exit code."""
    summary = summary_of(path)
    if picture is not None:
        draw(summary, picture)
        note(err, f"picture: {picture}")
    if as_json:
        click.echo(json_of(summary))
    else:
        show(summary)
    return summary.exit_code


def _output_options(command: Callable[..., int]) -> Callable[..., int]:
    picture = click.option("--picture", type=PATH, metavar="FILE.html|.svg|.png", help="Draw the summary.")
    return picture(options.as_json(command))


@click.group()
def command() -> None:
    """Time methods against each other on the same requests, and check that they give the same ids."""


def _methods() -> str:
    """Every method in a line, for ``--help``."""
    about = {name: entry.about for name, entry in METHODS.items()} | {
        ", ".join(ENGINE_METHODS): "the engine's own; or drafters joined by +, such as schema+hint",
        "METHOD/SUFFIX": f"suffixes are {' and '.join(f'/{name}' for name in SUFFIXES)}",
    }
    return "\n".join(["\b", "Methods:", *(f"  {name}: {text}" for name, text in about.items())])


@command.command("run", epilog=_methods())
@click.argument("requests", nargs=-1, required=True, type=PATH)
@click.option(
    "--methods",
    type=names,
    help=f"Joined by commas. Default: {','.join(DEFAULT_METHODS)} (/both only where two cores are pinned, "
    "generate+assistant with an --assistant).",
)
@click.option("--runs", default=3, show_default=True, type=click.IntRange(1, 10_000))
@click.option("--limit", type=COUNT, help="So many requests of each file.")
@options.max_new_tokens
@engine_options
@click.option("--assistant", help="A model for generate+assistant.")
@click.option("--rows", default="bench.rows.jsonl", show_default=True, type=click.Path(path_type=Path, writable=True))
@_output_options
def run(
    requests: tuple[Path, ...],
    methods: list[str] | None,
    runs: int,
    limit: int | None,
    max_new_tokens: int | None,
    config: EngineConfig,
    assistant: str | None,
    rows: Path,
    as_json: bool,
    picture: Path | None,
) -> int:
    """Measure REQUESTS (JSON Lines) by every method, and sum up.

    Exit code 1 if a row is an error, or in float32 an output differs from generate's. The same command goes on with
    a run that was stopped.
    """
    check_outputs(requests, {"--rows": rows, "--picture": picture})
    if picture is not None:
        check_picture(picture, "--picture")
    asked, categories = read_all(requests, limit, max_new_tokens)
    assert config.sidecar is not None  # the option has a default
    common = Options(
        devices=default_devices() if config.devices is None else config.devices,
        target=config.target,
        sidecar=config.sidecar,
        adapter=config.adapter,
        draft_model=config.draft_model,
        assistant=assistant,
        dtype=config.dtype,
    )
    parse_devices(common.devices)
    plans = plan(methods, common) if methods is not None else default_plan(common)
    if common.draft_model is not None and not any(CHAINS in each.entry.needs for each in plans):
        raise OospecError("--draft-model belongs to the drafter 'draft', and no method here has it; add one")
    header = Header(
        fingerprint=fingerprint(common, plans, asked),
        methods=[each.name for each in plans],
        runs=runs,
        categories=categories,
        date=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    )
    err = Console(stderr=True)
    try:
        measure(common, plans, asked, header, rows, err)
    except KeyboardInterrupt:
        if rows.exists():
            note(err, f"{rows}: holds the rows so far; the same command goes on from there")
        raise
    return conclude(rows, as_json, picture, err)


@command.command("report")
@click.argument("rows", type=PATH)
@_output_options
def report(rows: Path, as_json: bool, picture: Path | None) -> int:
    """Sum up ROWS, the file of an earlier run, without any model."""
    if picture is not None:
        if same_file(picture, rows):
            raise OospecError(f"--picture {picture}: is the file of rows; name another")
        check_picture(picture, "--picture")
    return conclude(rows, as_json, picture, Console(stderr=True))


@command.command("matrix")
@click.argument("files", metavar="ROWS...", nargs=-1, required=True, type=PATH)
@options.as_json
def compare(files: tuple[Path, ...], as_json: bool) -> int:
    """Speedups of several benchmarks, by requests and target, with unweighted means."""
    for place, path in enumerate(files):
        if any(same_file(path, other) for other in files[:place]):
            raise OospecError(f"{path}: is named twice; a mean counts a file once")
    summaries = {path: summary_of(path) for path in files}
    found = matrix(summaries)
    if as_json:
        click.echo(to_json(asdict(found), indent=1).decode())
    else:
        print_table(stdout(), table(found))
    return max(summary.exit_code for summary in summaries.values())


def main(argv: Sequence[str] | None = None) -> int:
    """0: all outputs are the same, 1: one is not or failed, 2: bad input, which one line names, 130: interrupted."""
    return run_command(command, "python -m tools.bench", argv)


if __name__ == "__main__":
    sys.exit(main())
