"""``oospec-run``: run real tool calls and compare methods."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from oospec_async.commands.run import RunOptions, check, run
from oospec_async.console.command import run_command
from oospec_async.console.event_loop import run_loop
from oospec_async.decoding.drafters import METHODS, needs_of
from oospec_async.errors import OospecError
from oospec_async.request import Request, read_requests
from oospec_async.runtime.config import EngineConfig
from oospec_async.runtime.devices import parse_devices
from oospec_async.sidecar.shipped_adapters import SHIPPED
from oospec_async.weights.fetch import DEFAULT_SIDECAR, DEFAULT_TARGET, fetch_models

_PACKAGE = Path(__file__).parent.parent


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("requests", required=False, type=click.Path(path_type=Path))
@click.option("--live", is_flag=True, help="Run real models on this machine.")
@click.option("--trace", "replayed", hidden=True)
@click.option(
    "--fetch", is_flag=True, help="Only fetch the weights of --target, --sidecar and --draft-model, then stop."
)
@click.option("--target", default=DEFAULT_TARGET, show_default=True, help="Directory or Hugging Face id.")
@click.option("--sidecar", default=DEFAULT_SIDECAR, show_default=True, help="Directory or Hugging Face id.")
@click.option(
    "--draft-model",
    help="A smaller model with the target's tokenizer, on its device, for methods with draft: directory or id.",
)
@click.option(
    "--adapter",
    default=SHIPPED,
    show_default=True,
    help="The sidecar's LoRA adapter: a directory (peft format) or none.",
)
@click.option("--devices", help="TARGET,SIDECAR: cuda:N, cpu, or cpu:N (one pinned core). Default: what is there.")
@click.option("--method", help=f"One of {', '.join(METHODS)}, or drafters joined by +. Default: oospec.")
@click.option("--compare", help="Methods joined by commas, the baseline first, such as ar,toolspec,oospec.")
@click.option("--limit", type=click.IntRange(min=1), help="Serve only so many requests.")
@click.option("--max-new-tokens", type=click.IntRange(min=1), help="Instead of each request's own limit.")
@click.option("--dtype", type=click.Choice(["bfloat16", "float32", "float16"]), default="bfloat16", show_default=True)
@click.option("--record", type=click.Path(path_type=Path), metavar="TRACE.json", help="Write a trace of the run.")
@click.option("--timeline", type=click.Path(path_type=Path), metavar="FILE.html|.json", help="Draw both devices.")
@click.option("--json", "as_json", is_flag=True, help="Results as JSON on stdout.")
def command(
    requests: Path | None,
    live: bool,
    replayed: str | None,
    fetch: bool,
    target: str,
    sidecar: str,
    draft_model: str | None,
    adapter: str,
    devices: str | None,
    method: str | None,
    compare: str | None,
    limit: int | None,
    max_new_tokens: int | None,
    dtype: str,
    record: Path | None,
    timeline: Path | None,
    as_json: bool,
) -> None:
    """Decode the tool calls of REQUESTS (JSON Lines in the OpenAI format; default: the examples that come along)."""
    if replayed is not None:
        raise OospecError(f"--trace: a trace is replayed by the simulator; write oospec-sim live {replayed}")
    if fetch:
        fetch_models([target, sidecar, *([draft_model] if draft_model is not None else [])])
        return
    if not live:
        raise OospecError(
            "say --live to run real models on this machine, or --fetch to only fetch weights; "
            "oospec-sim live TRACE.json replays a recorded run without models"
        )
    methods = _methods(method, compare)
    needs_sidecar = any("hint" in needs_of(name) for name in methods)
    if devices is not None:
        parse_devices(devices)
    source = requests or _examples()
    options = RunOptions(
        source=source,
        requests=_read(source, limit, max_new_tokens),
        methods=methods,
        engine=EngineConfig(
            target=target,
            sidecar=sidecar if needs_sidecar else None,
            draft_model=draft_model,
            adapter=adapter,
            devices=devices,
            dtype=dtype,
            reuse_prefix=record is None,  # a trace says what a request costs by itself
            record=record is not None or timeline is not None,
            finish_waves=True,  # the table tells the whole wave
        ),
        record=record,
        timeline=timeline,
        as_json=as_json,
    )
    check(options)
    run_loop(run(options))


def _methods(method: str | None, compare: str | None) -> list[str]:
    """Those that are named, or ``oospec``."""
    if method is not None and compare is not None:
        raise OospecError("--method and --compare exclude each other; name all methods with --compare")
    named = compare if compare is not None else method or "oospec"
    methods = [part.strip() for part in named.split(",")]
    if len(set(methods)) < len(methods):
        raise OospecError(f"--compare {compare}: names a method twice")
    return methods


def _examples() -> Path:
    """The example requests: inside an installed package, beside it in a checkout."""
    inside = _PACKAGE / "examples" / "requests.jsonl"
    return inside if inside.exists() else _PACKAGE.parent / "examples" / "requests.jsonl"


def _read(path: Path, limit: int | None, max_new_tokens: int | None) -> list[Request]:
    requests = read_requests(path)[:limit]
    if max_new_tokens is None:
        return requests
    return [request.model_copy(update={"max_new_tokens": max_new_tokens}) for request in requests]


def main() -> None:
    sys.exit(run_command(command, "oospec-run"))
