"""``oospec-train``: from public data to a sidecar's adapter, one stage a sub-command, a file in and a file out."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

import click

from oospec_async.console.command import run_command
from oospec_async.sidecar.shipped_adapters import SHIPPED
from oospec_async.training.fit.recipe import RECIPES
from oospec_async.weights.fetch import DEFAULT_SIDECAR, DEFAULT_TARGET

# Stages are imported where they run: most need no torch.

_FILE = click.Path(path_type=Path)
_SEED = click.IntRange(min=0, max=2**31 - 1)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Make a sidecar's adapter. Every stage reads a file and writes a file, with OUT.manifest.json beside it."""


@command.command()
@click.option("--train", multiple=True, metavar="FORMAT:PATH", help="A set to train on; may be repeated.")
@click.option(
    "--eval", "evaluation", multiple=True, metavar="FORMAT:PATH", help="A set to evaluate on; may be repeated."
)
@click.option("--out", required=True, type=_FILE, help="Requests with gold, one a line.")
def sources(train: tuple[str, ...], evaluation: tuple[str, ...], out: Path) -> None:
    """Read public sets; nothing that an evaluation set holds stays in training."""
    from oospec_async.training.data.sources import sources_file as run

    if not train and not evaluation:
        raise click.UsageError("name at least one set with --train or --eval")
    _report(run(train, evaluation, out), out)


@command.command()
@click.option(
    "--writer", required=True, help="phrases (needs no model), or an instruct model: directory or Hugging Face id."
)
@click.option("--seal-tools", required=True, type=_FILE, help="Directory of Seal-Tools: schemas and values.")
@click.option("--eval", "evaluation", multiple=True, metavar="FORMAT:PATH", help="Keep its functions out.")
@click.option("--count", required=True, type=click.IntRange(min=1), help="Messages to write, those to drop included.")
@click.option("--seed", type=_SEED, default=0, show_default=True)
@click.option("--out", required=True, type=_FILE, help="Messages, one a line; an unfinished file is continued.")
@click.option("--devices", help="cuda:N, cpu, or cpu:N (one pinned core). Default: what is there.")
@click.option("--dtype", type=click.Choice(["bfloat16", "float32", "float16"]), default="bfloat16", show_default=True)
def synthesise(
    writer: str,
    seal_tools: Path,
    evaluation: tuple[str, ...],
    count: int,
    seed: int,
    out: Path,
    devices: str | None,
    dtype: str,
) -> None:
    """Write user messages for drawn functions and values, by a model or by simple rules."""
    from oospec_async.training.data.writing.synthesise import SynthesiseOptions
    from oospec_async.training.data.writing.synthesise import synthesise as run

    _report(run(SynthesiseOptions(writer, seal_tools, out, count, evaluation, seed, devices, dtype)), out)


@command.command()
@click.option("--teacher", required=True, help="Directory, Hugging Face id, or address (http://HOST/v1).")
@click.option("--model", help="What the server at the address calls its model.")
@click.option("--requests", required=True, type=_FILE, help="Requests, one a line.")
@click.option("--out", required=True, type=_FILE, help="Calls, one line a request; an unfinished file is continued.")
@click.option("--devices", help="cuda:N, cpu, or cpu:N (one pinned core). Default: what is there.")
@click.option("--dtype", type=click.Choice(["bfloat16", "float32", "float16"]), default="bfloat16", show_default=True)
@click.option("--limit", type=click.IntRange(min=1), help="Ask for the first so many requests.")
@click.option("--max-new-tokens", type=click.IntRange(min=1), default=160, show_default=True)
def teach(
    teacher: str,
    model: str | None,
    requests: Path,
    out: Path,
    devices: str | None,
    dtype: str,
    limit: int | None,
    max_new_tokens: int,
) -> None:
    """Ask a teacher for greedy calls."""
    from oospec_async.console.event_loop import run_loop
    from oospec_async.training.teach.teach import TeachOptions
    from oospec_async.training.teach.teach import teach as run

    run_loop(run(TeachOptions(teacher, requests, out, model, devices, dtype, limit, max_new_tokens)))


@command.command()
@click.option("--messages", required=True, multiple=True, type=_FILE, help="Output of synthesise; may be repeated.")
@click.option("--seal-tools", required=True, type=_FILE, help="Directory of Seal-Tools, as given to synthesise.")
@click.option("--eval", "evaluation", multiple=True, metavar="FORMAT:PATH", help="Keep its functions and prompts out.")
@click.option("--seed", type=_SEED, default=0, show_default=True)
@click.option("--out", required=True, type=_FILE, help="Requests with gold, one a line.")
def offer(messages: tuple[Path, ...], seal_tools: Path, evaluation: tuple[str, ...], seed: int, out: Path) -> None:
    """Make requests of synthesised messages: choose 1 to 5 functions on offer, join some messages to pairs."""
    from oospec_async.training.data.writing.offer import offer_file as run

    _report(run(messages, seal_tools, evaluation, seed, out), out)


@command.command()
@click.option("--requests", required=True, type=_FILE, help="Requests, one a line.")
@click.option("--seed", type=_SEED, default=0, show_default=True)
@click.option("--out", required=True, type=_FILE, help="The same requests, with names in other styles.")
def vary(requests: Path, seed: int, out: Path) -> None:
    """Restyle the names of functions and parameters, one style a request. Before teach, not after."""
    from oospec_async.training.data.vary import vary_file as run

    _report(run(requests, seed, out), out)


@command.command()
@click.option("--requests", required=True, multiple=True, type=_FILE, help="Requests; may be repeated.")
@click.option("--calls", multiple=True, type=_FILE, help="Output of teach for them; may be repeated.")
@click.option("--eval", "evaluation", multiple=True, metavar="FORMAT:PATH", help="Keep its functions and prompts out.")
@click.option("--out", required=True, type=_FILE, help="Training rows, one line a request.")
def rows(requests: tuple[Path, ...], calls: tuple[Path, ...], evaluation: tuple[str, ...], out: Path) -> None:
    """Make training rows: a teacher's calls where they are valid, else gold; split by function."""
    from oospec_async.training.data.rows import rows_file as run

    _report(run(requests, calls, evaluation, out), out)


@command.command()
@click.option("--rows", required=True, multiple=True, type=_FILE, help="Output of rows; may be repeated.")
@click.option("--sidecar", default=DEFAULT_SIDECAR, show_default=True, help="Directory or Hugging Face id.")
@click.option("--recipe", type=click.Choice(sorted(RECIPES)), default="published", show_default=True)
@click.option("--budget", type=click.FloatRange(min=0, min_open=True), help="Minutes; the schedule ends with them.")
@click.option("--device", default="cpu", show_default=True, help="cuda:N, cpu, or cpu:N (one pinned core).")
@click.option("--dtype", type=click.Choice(["bfloat16", "float32"]), default="bfloat16", show_default=True)
@click.option("--seed", type=_SEED, default=0, show_default=True)
@click.option("--begin", type=_FILE, help="Adapter to begin with; default: a new one.")
@click.option("--out", required=True, type=_FILE, help="Directory of the adapter; an unfinished run is continued.")
def train(
    rows: tuple[Path, ...],
    sidecar: str,
    recipe: str,
    budget: float | None,
    device: str,
    dtype: str,
    seed: int,
    begin: Path | None,
    out: Path,
) -> None:
    """Train a sidecar's LoRA adapter (peft format)."""
    from oospec_async.training.fit.fit import FitOptions, fit

    fit(FitOptions(rows, sidecar, recipe, budget, device, dtype, seed, out, begin))


@command.command()
@click.option("--requests", required=True, type=_FILE, help="Requests, one a line.")
@click.option("--sidecar", default=DEFAULT_SIDECAR, show_default=True, help="Directory or Hugging Face id.")
@click.option("--adapter", default=SHIPPED, show_default=True, help="A directory (peft format) or none.")
@click.option("--devices", help="As of oospec-run: the second one is the sidecar's.")
@click.option("--dtype", type=click.Choice(["bfloat16", "float32", "float16"]), default="bfloat16", show_default=True)
@click.option("--out", required=True, type=_FILE, help="Guesses, one line a request; an unfinished file is continued.")
def guess(requests: Path, sidecar: str, adapter: str, devices: str | None, dtype: str, out: Path) -> None:
    """Run a sidecar's waves over requests."""
    from oospec_async.training.judge.guess import GuessOptions
    from oospec_async.training.judge.guess import guess as run

    run(GuessOptions(requests, out, sidecar, adapter, devices, dtype))


@command.command("eval")
@click.option("--guesses", required=True, type=_FILE, help="Output of guess.")
@click.option("--requests", required=True, type=_FILE, help="The requests that were guessed at.")
@click.option("--calls", type=_FILE, help="Output of teach for them: judge by what that model writes, not by gold.")
@click.option("--json", "as_json", is_flag=True, help="Results as JSON on stdout.")
def evaluate(guesses: Path, requests: Path, calls: Path | None, as_json: bool) -> None:
    """Judge guesses: by the accepted answers of evaluation sets, or by a target's own calls."""
    from oospec_async.training.judge.judge import judge_files, print_scores

    print_scores(judge_files(guesses, requests, calls), as_json)


@command.command()
@click.option("--guesses", required=True, type=_FILE, help="Output of guess.")
@click.option("--requests", required=True, type=_FILE, help="The requests that were guessed at.")
@click.option("--calls", required=True, type=_FILE, help="Output of teach for them, with the target as the teacher.")
@click.option("--target", default=DEFAULT_TARGET, show_default=True, help="That target: its tokenizer is needed.")
@click.option("--json", "as_json", is_flag=True, help="Results as JSON on stdout.")
def rounds(guesses: Path, requests: Path, calls: Path, target: str, as_json: bool) -> None:
    """Count the rounds that guesses save a target, on its recorded outputs."""
    from oospec_async.training.judge.rounds import print_saving, savings

    print_saving(savings(guesses, requests, calls, target), as_json)


def _report(lines: Iterable[str], out: Path) -> None:
    for text in lines:
        click.echo(text, err=True)
    click.echo(f"{out}: written", err=True)


def main() -> None:
    sys.exit(run_command(command, "oospec-train"))


if __name__ == "__main__":
    main()
