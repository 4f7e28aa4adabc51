"""``oospec-sim``: replay recorded runs under other placements, loads and speeds."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from oospec_async.console.command import run_command, visible
from oospec_async.errors import OospecError
from sim.scenario.methods import DEFAULT_METHODS
from sim.scenario.placement import PLACEMENTS
from sim.scenario.scenario import scenario_of

_PATH = click.Path(path_type=Path)
_OPTIONS = ("method", "placement", "load", "scale-sidecar", "jitter", "seed")  # of fields of a scenario
_SETTINGS = {"help_option_names": ["-h", "--help"]}


@click.group(invoke_without_command=True, context_settings=_SETTINGS)
@click.option("--trace", type=_PATH, metavar="TRACE.json", help="What to replay: oospec-run --live --record writes it.")
@click.option("--method", "methods", help=f"Methods joined by commas. Default: {','.join(DEFAULT_METHODS)}.")
@click.option("--placement", help=f"{', '.join(PLACEMENTS)}; with parameters, such as fraction:share=0.25.")
@click.option("--load", help="closed, poisson:rate=2 (requests per second), recorded.")
@click.option("--scale-sidecar", metavar="X", help="A sidecar device X times as fast as the recorded one.")
@click.option("--set", "settings", multiple=True, metavar="FIELD=VALUE", help="Any other field of a scenario.")
@click.option("--colocated", type=_PATH, metavar="TRACE.json", help="A trace of both models on one device.")
@click.option("--jitter", is_flag=True, help="Let times scatter as the samples do, instead of typical times.")
@click.option("--seed", type=click.IntRange(min=0), help="Of jitter and of random arrivals. Default: 0.")
@click.option("--json", "as_json", is_flag=True, help="Results as JSON on stdout.")
@click.option("--report", type=_PATH, metavar="FILE.html", help="Write a web page with plots.")
@click.option("--timeline", type=_PATH, metavar="FILE.json|.html", help="Write the timeline of all requests.")
@click.option("--check", type=_PATH, metavar="TRACE.json", help="Only check a trace, and say what is wrong with it.")
@click.pass_context
def command(
    context: click.Context,
    trace: Path | None,
    methods: str | None,
    placement: str | None,
    load: str | None,
    scale_sidecar: str | None,
    settings: tuple[str, ...],
    colocated: Path | None,
    jitter: bool,
    seed: int | None,
    as_json: bool,
    report: Path | None,
    timeline: Path | None,
    check: Path | None,
) -> None:
    """Replay a trace: what would the same requests have taken by other methods, on other devices, under other loads?"""
    if context.invoked_subcommand is not None:
        given = [name for name, value in context.params.items() if value not in (None, False, ())]
        if given:
            raise OospecError(f"--{given[0].replace('_', '-')} does not belong to {context.invoked_subcommand}")
        return
    if check is not None:
        sys.exit(_check(check))
    if trace is None:
        raise OospecError("say --trace TRACE.json, for example traces/qwen3-14b.json; --help tells the rest")
    named = {"placement": placement, "load": load, "scale_sidecar": scale_sidecar, "seed": seed}
    values: dict[str, object] = {name: value for name, value in named.items() if value is not None}
    base = scenario_of({**values, **_settings(settings), **({"jitter": True} if jitter else {})}, what="options")
    from sim.run import Options, run

    run(Options(trace, base, _names(methods), colocated=colocated, as_json=as_json, report=report, timeline=timeline))


@command.command(context_settings=_SETTINGS)
@click.argument("study", type=_PATH)
@click.option("--workers", default="auto", show_default=True, help="Processes: a number, auto, or ray.")
@click.option("--json", "as_json", is_flag=True, help="Results as JSON on stdout.")
@click.option("--report", type=_PATH, metavar="FILE.html", help="Write a web page with plots.")
@click.option("--markdown", type=_PATH, metavar="FILE.md", help="Append a Markdown table, as for $GITHUB_STEP_SUMMARY.")
@click.option(
    "--rows", type=_PATH, metavar="FILE.jsonl", help="Where finished rows are kept. Default: ./STUDY.rows.jsonl."
)
def study(
    study: Path, workers: str, as_json: bool, report: Path | None, markdown: Path | None, rows: Path | None
) -> None:
    """Run all scenarios of STUDY.toml and check its assertions; exit code 1 if one fails."""
    from sim.study.run import StudyOptions, run_study

    sys.exit(run_study(StudyOptions(study, workers, as_json, report, markdown, rows)))


@command.command(context_settings=_SETTINGS)
@click.argument("trace", type=_PATH)
@click.option("--against", multiple=True, type=_PATH, metavar="TRACE.json", help="Recorded traces to be predicted.")
@click.option("--json", "as_json", is_flag=True, help="Results as JSON on stdout.")
def fidelity(trace: Path, against: tuple[Path, ...], as_json: bool) -> None:
    """Calibrate on half of a recorded trace's requests, predict the other half, and say how far off that is."""
    from sim.fidelity import run_fidelity

    run_fidelity(trace, against, as_json=as_json)


@command.command(context_settings=_SETTINGS)
@click.argument("trace", type=_PATH)
@click.option("--method", "methods", help=f"Methods joined by commas. Default: {','.join(DEFAULT_METHODS)}.")
@click.option("--placement", default="split", show_default=True, help=f"One of {', '.join(PLACEMENTS)}.")
@click.option("--limit", type=click.IntRange(min=1), help="Serve only so many requests.")
@click.option("--json", "as_json", is_flag=True, help="Results as JSON on stdout.")
@click.option("--timeline", type=_PATH, metavar="FILE.json|.html", help="Draw both devices.")
def live(
    trace: Path, methods: str | None, placement: str, limit: int | None, as_json: bool, timeline: Path | None
) -> None:
    """Serve the requests of TRACE by the live engine itself, on a virtual clock and without models."""
    from sim.live.run import ReplayOptions, replay

    replay(ReplayOptions(trace, placement, _names(methods), limit, timeline, as_json))


def _names(methods: str | None) -> list[str] | None:
    return [name.strip() for name in methods.split(",")] if methods is not None else None


def _settings(settings: Sequence[str]) -> dict[str, object]:
    values: dict[str, object] = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals:
            raise OospecError(f"--set {setting}: write FIELD=VALUE, such as link_latency=0.001")
        if (option := name.strip().replace("_", "-")) in _OPTIONS:
            raise OospecError(f"--set {name.strip()}: it has an option of its own; write --{option}")
        values[name.strip()] = value.strip()
    return values


def _check(path: Path) -> int:
    from oospec_async.trace import check_trace

    problems = check_trace(path)
    for problem in problems:
        click.echo(f"oospec-sim: {visible(problem)}", err=True)
    if not problems:
        click.echo(f"{path}: fine")
    return 2 if problems else 0


def main() -> None:
    sys.exit(run_command(command, "oospec-sim"))
