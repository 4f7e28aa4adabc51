"""``oospec-run``: run real tool calls and compare methods."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from oospec_async.commands.model_options import engine_options
from oospec_async.commands.run import RunOptions, check, run
from oospec_async.console import options
from oospec_async.console.command import run_command
from oospec_async.console.event_loop import run_loop
from oospec_async.console.options import PATH, names
from oospec_async.decoding.drafters import METHODS
from oospec_async.devices import parse_devices
from oospec_async.errors import OospecError
from oospec_async.request_file import RequestFile, read_request_file
from oospec_async.runtime.config import EngineConfig
from oospec_async.weights.fetch import fetch_models

_PACKAGE = Path(__file__).parent.parent


@click.command()
@click.argument("requests", required=False, type=PATH)
@click.option("--live", is_flag=True, help="Run real models on this machine.")
@click.option("--trace", "replayed", hidden=True)
@click.option(
    "--fetch", is_flag=True, help="Only fetch the weights of --target, --sidecar and --draft-model, then stop."
)
@engine_options
@click.option("--method", type=names, help=f"One of {', '.join(METHODS)}, or drafters joined by +. Default: oospec.")
@click.option("--compare", type=names, help="Methods joined by commas, the baseline first, such as ar,toolspec,oospec.")
@options.limit
@options.max_new_tokens
@click.option("--strict", is_flag=True, help="Serve nothing if one request is bad. Default: serve the others.")
@click.option("--record", type=PATH, metavar="TRACE.json", help="Write a trace of the run.")
@options.timeline
@options.as_json
def command(
    requests: Path | None,
    live: bool,
    replayed: str | None,
    fetch: bool,
    config: EngineConfig,
    method: list[str] | None,
    compare: list[str] | None,
    limit: int | None,
    max_new_tokens: int | None,
    **output: Any,
) -> None:
    """Decode the tool calls of REQUESTS (JSON Lines in the OpenAI format; default: the examples that come along)."""
    if replayed is not None:
        raise OospecError(f"--trace: a trace is replayed by the simulator; write oospec-sim live {replayed}")
    if fetch:
        fetch_models([name for name in (config.target, config.sidecar, config.draft_model) if name is not None])
        return
    if not live:
        raise OospecError(
            "say --live to run real models on this machine, or --fetch to only fetch weights; "
            "oospec-sim live TRACE.json replays a recorded run without models"
        )
    if method is not None and compare is not None:
        raise OospecError("--method and --compare exclude each other; name all methods with --compare")
    methods = compare or method or ["oospec"]
    if len(set(methods)) < len(methods):
        raise OospecError(f"--compare {','.join(methods)}: names a method twice")
    if config.devices is not None:
        parse_devices(config.devices)
    asked = RunOptions(_read(requests or _examples(), limit, max_new_tokens), methods, config, **output)
    check(asked)
    run_loop(run(asked))


def _examples() -> Path:
    """The example requests: inside an installed package, beside it in a checkout."""
    inside = _PACKAGE / "examples" / "requests.jsonl"
    return inside if inside.exists() else _PACKAGE.parent / "examples" / "requests.jsonl"


def _read(path: Path, limit: int | None, max_new_tokens: int | None) -> RequestFile:
    found = read_request_file(path)
    update = {} if max_new_tokens is None else {"max_new_tokens": max_new_tokens}
    return replace(found, requests=[request.model_copy(update=update) for request in found.requests[:limit]])


def main() -> None:
    sys.exit(run_command(command, "oospec-run"))
