"""``oospec-train``: from public data to a sidecar's adapter, one stage a sub-command, a file in and a file out."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from oospec_async.commands import model_options
from oospec_async.console import options
from oospec_async.console.command import run_command
from oospec_async.console.options import COUNT, PATH
from oospec_async.training.fit.recipe import RECIPES
from oospec_async.weights import DEFAULT_TARGET

# Stages are imported where they run: most need no torch. An option's name is that of the stage's own parameter.


def _file(name: str, help: str, **settings: Any) -> Any:
    return click.option(name, required=settings.pop("required", True), type=PATH, help=help, **settings)


def _evaluation(help: str) -> Any:
    return click.option("--eval", "evaluation", multiple=True, metavar="FORMAT:PATH", help=help)


_device_of_its_own = click.option("--devices", help=f"{model_options.ONE_DEVICE}. Default: what is there.")
_requests = _file("--requests", "Requests, one a line.")
_guesses = _file("--guesses", "Output of guess.")
_guessed = _file("--requests", "The requests that were guessed at.")


@click.group()
def command() -> None:
    """Make a sidecar's adapter. Every stage reads a file and writes a file, with OUT.manifest.json beside it."""


@command.command()
@click.option("--train", multiple=True, metavar="FORMAT:PATH", help="A set to train on; may be repeated.")
@_evaluation("A set to evaluate on; may be repeated.")
@_file("--out", "Requests with gold, one a line.")
def sources(**given: Any) -> None:
    """Read public sets; nothing that an evaluation set holds stays in training."""
    from oospec_async.training.data.sources import sources_file

    if not given["train"] and not given["evaluation"]:
        raise click.UsageError("name at least one set with --train or --eval")
    _report(sources_file(**given), given["out"])


@command.command()
@click.option(
    "--writer", required=True, help="phrases (needs no model), or an instruct model: directory or Hugging Face id."
)
@_file("--seal-tools", "Directory of Seal-Tools: schemas and values.")
@_evaluation("Keep its functions out.")
@click.option("--count", required=True, type=COUNT, help="Messages to write, those to drop included.")
@options.seed
@_file("--out", "Messages, one a line; an unfinished file is continued.")
@_device_of_its_own
@model_options.dtype
def synthesise(**given: Any) -> None:
    """Write user messages for drawn functions and values, by a model or by simple rules."""
    from oospec_async.training.data.writing.synthesise import SynthesiseOptions
    from oospec_async.training.data.writing.synthesise import synthesise as run

    _report(run(SynthesiseOptions(**given)), given["out"])


@command.command()
@click.option("--teacher", required=True, help="Directory, Hugging Face id, or address (http://HOST/v1).")
@click.option("--model", help="What the server at the address calls its model.")
@_requests
@_file("--out", "Calls, one line a request; an unfinished file is continued.")
@_device_of_its_own
@model_options.dtype
@click.option("--limit", type=COUNT, help="Ask for the first so many requests.")
@click.option("--max-new-tokens", type=COUNT, default=160, show_default=True)
def teach(**given: Any) -> None:
    """Ask a teacher for greedy calls."""
    from oospec_async.console.event_loop import run_loop
    from oospec_async.training.teach.teach import TeachOptions
    from oospec_async.training.teach.teach import teach as run

    run_loop(run(TeachOptions(**given)))


@command.command()
@_file("--messages", "Output of synthesise; may be repeated.", multiple=True)
@_file("--seal-tools", "Directory of Seal-Tools, as given to synthesise.")
@_evaluation("Keep its functions and prompts out.")
@options.seed
@_file("--out", "Requests with gold, one a line.")
def offer(**given: Any) -> None:
    """Make requests of synthesised messages: choose 1 to 5 functions on offer, join some messages to pairs."""
    from oospec_async.training.data.writing.offer import offer_file

    _report(offer_file(**given), given["out"])


@command.command()
@_requests
@options.seed
@_file("--out", "The same requests, with names in other styles.")
def vary(**given: Any) -> None:
    """Restyle the names of functions and parameters, one style a request. Before teach, not after."""
    from oospec_async.training.data.vary import vary_file

    _report(vary_file(**given), given["out"])


@command.command()
@_file("--requests", "Requests; may be repeated.", multiple=True)
@_file("--calls", "Output of teach for them; may be repeated.", multiple=True, required=False)
@_evaluation("Keep its functions and prompts out.")
@_file("--out", "Training rows, one line a request.")
def rows(**given: Any) -> None:
    """Make training rows: a teacher's calls where they are valid, else gold; split by function."""
    from oospec_async.training.data.rows import rows_file

    _report(rows_file(**given), given["out"])


@command.command()
@_file("--rows", "Output of rows; may be repeated.", multiple=True)
@model_options.sidecar
@click.option("--recipe", type=click.Choice(sorted(RECIPES)), default="published", show_default=True)
@click.option("--budget", type=click.FloatRange(min=0, min_open=True), help="Minutes; the schedule ends with them.")
@model_options.device
@click.option("--dtype", type=click.Choice(["bfloat16", "float32"]), default="bfloat16", show_default=True)
@options.seed
@_file("--begin", "Adapter to begin with; default: a new one.", required=False)
@_file("--out", "Directory of the adapter; an unfinished run is continued.")
def train(**given: Any) -> None:
    """Train a sidecar's LoRA adapter (peft format)."""
    from oospec_async.training.fit.fit import FitOptions, fit

    fit(FitOptions(**given))


@command.command()
@_requests
@model_options.sidecar
@model_options.adapter
@click.option("--devices", help="As of oospec-run: the second one is the sidecar's.")
@model_options.dtype
@_file("--out", "Guesses, one line a request; an unfinished file is continued.")
def guess(**given: Any) -> None:
    """Run a sidecar's waves over requests."""
    from oospec_async.training.judge.guess import GuessOptions
    from oospec_async.training.judge.guess import guess as run

    run(GuessOptions(**given))


@command.command("eval")
@_guesses
@_guessed
@_file("--calls", "Output of teach for them: judge by what that model writes, not by gold.", required=False)
@options.as_json
def evaluate(as_json: bool, **given: Any) -> None:
    """Judge guesses: by the accepted answers of evaluation sets, or by a target's own calls."""
    from oospec_async.training.judge.judge import judge_files, print_scores

    print_scores(judge_files(**given), as_json)


@command.command()
@_guesses
@_guessed
@_file("--calls", "Output of teach for them, with the target as the teacher.")
@click.option("--target", default=DEFAULT_TARGET, show_default=True, help="That target: its tokenizer is needed.")
@options.as_json
def rounds(as_json: bool, **given: Any) -> None:
    """Count the rounds that guesses save a target, on its recorded outputs."""
    from oospec_async.training.judge.rounds import print_saving, savings

    print_saving(savings(**given), as_json)


def _report(lines: Iterable[str], out: Path) -> None:
    for text in lines:
        click.echo(text, err=True)
    click.echo(f"{out}: written", err=True)


def main() -> None:
    sys.exit(run_command(command, "oospec-train"))


if __name__ == "__main__":
    main()
