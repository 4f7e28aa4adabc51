"""``oospec-sim``: replay recorded runs under other placements, loads and speeds."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from oospec_async.console import options
from oospec_async.console.command import run_command, visible
from oospec_async.console.options import PATH, names
from oospec_async.errors import OospecError
from sim.scenario.methods import DEFAULT_METHODS
from sim.scenario.placement import PLACEMENTS
from sim.scenario.scenario import Scenario, scenario_of

_OPTIONS = ("method", "placement", "load", "scale-sidecar", "jitter", "seed")  # of fields of a scenario

_methods = click.option(
    "--method", "methods", type=names, help=f"Methods joined by commas. Default: {','.join(DEFAULT_METHODS)}."
)


@click.group(invoke_without_command=True)
@click.option("--trace", type=PATH, metavar="TRACE.json", help="What to replay: oospec-run --live --record writes it.")
@_methods
@click.option("--placement", help=f"{', '.join(PLACEMENTS)}; with parameters, such as fraction:share=0.25.")
@click.option("--load", help="closed, poisson:rate=2 (requests per second), recorded.")
@click.option("--scale-sidecar", metavar="X", help="A sidecar device X times as fast as the recorded one.")
@click.option("--set", "settings", multiple=True, metavar="FIELD=VALUE", help="Any other field of a scenario.")
@click.option("--colocated", type=PATH, metavar="TRACE.json", help="A trace of both models on one device.")
@click.option("--jitter", is_flag=True, help="Let times scatter as the samples do, instead of typical times.")
@click.option("--seed", type=click.IntRange(min=0), help="Of jitter and of random arrivals. Default: 0.")
@options.as_json
@options.report
@click.option("--timeline", type=PATH, metavar="FILE.json|.html", help="Write the timeline of all requests.")
@click.option("--check", type=PATH, metavar="TRACE.json", help="Only check a trace, and say what is wrong with it.")
@click.pass_context
def command(
    context: click.Context,
    /,
    trace: Path | None,
    methods: list[str] | None,
    placement: str | None,
    load: str | None,
    scale_sidecar: str | None,
    settings: tuple[str, ...],
    jitter: bool,
    seed: int | None,
    check: Path | None,
    **output: Any,
) -> int:
    """Replay a trace: what would the same requests have taken by other methods, on other devices, under other loads?"""
    if context.invoked_subcommand is not None:
        given = [name for name, value in context.params.items() if value not in (None, False, ())]
        if given:
            raise OospecError(f"--{given[0].replace('_', '-')} does not belong to {context.invoked_subcommand}")
        return 0
    if check is not None:
        return _check(check)
    if trace is None:
        raise OospecError("say --trace TRACE.json, for example traces/qwen3-14b.json; --help tells the rest")
    named = {"placement": placement, "load": load, "scale_sidecar": scale_sidecar, "seed": seed}
    values: dict[str, object] = {name: value for name, value in named.items() if value is not None}
    base = scenario_of({**values, **_settings(settings), **({"jitter": True} if jitter else {})}, what="options")
    what_if(trace, base, methods, **output)
    return 0


@command.command()
@click.argument("study", type=PATH)
@click.option("--workers", default="auto", show_default=True, help="Processes: a number, auto, or ray.")
@options.as_json
@options.report
@click.option("--markdown", type=PATH, metavar="FILE.md", help="Append a Markdown table, as for $GITHUB_STEP_SUMMARY.")
@click.option(
    "--rows", type=PATH, metavar="FILE.jsonl", help="Where finished rows are kept. Default: ./STUDY.rows.jsonl."
)
def study(**given: Any) -> int:
    """Run all scenarios of STUDY.toml and check its assertions; exit code 1 if one fails."""
    from sim.study.run import run_study

    return run_study(**given)


@command.command()
@click.argument("trace", type=PATH)
@click.option("--against", multiple=True, type=PATH, metavar="TRACE.json", help="Recorded traces to be predicted.")
@options.as_json
def fidelity(trace: Path, against: tuple[Path, ...], as_json: bool) -> None:
    """Calibrate on half of a recorded trace's requests, predict the other half, and say how far off that is."""
    from sim.fidelity.run import run_fidelity

    run_fidelity(trace, against, as_json=as_json)


@command.command()
@click.argument("trace", type=PATH)
@_methods
@click.option("--placement", default="split", show_default=True, help=f"One of {', '.join(PLACEMENTS)}.")
@options.limit
@options.as_json
@options.timeline
def live(**given: Any) -> None:
    """Serve the requests of TRACE by the live engine itself, on a virtual clock and without models."""
    from sim.live.run import run_live

    run_live(**given)


def what_if(
    trace: Path,
    base: Scenario,
    methods: Sequence[str] | None = None,
    *,
    colocated: Path | None = None,
    as_json: bool = False,
    report: Path | None = None,
    timeline: Path | None = None,
) -> None:
    """Methods under one scenario; None: the default ones, as far as the trace has them.

    Results go to stdout, notes to stderr. Raises OospecError.
    """
    from rich.console import Console

    from oospec_async.console.output import note, stdout
    from oospec_async.files.writing import check_outputs
    from oospec_async.timeline import check_timeline_path, write_timeline
    from sim.figures.as_json import results_as_json
    from sim.figures.events import events_of
    from sim.figures.provenance import basis
    from sim.figures.simulator import open_simulator
    from sim.figures.table import print_results
    from sim.scenario.methods import playable

    check_outputs((trace, colocated), {"--report": report, "--timeline": timeline})
    if timeline is not None:
        check_timeline_path(timeline)
    simulator, err = open_simulator(trace, colocated), Console(stderr=True)
    recording = simulator.recording
    names, left_out = (methods, []) if methods is not None else playable(recording, DEFAULT_METHODS)
    for line in left_out:
        note(err, line)
    results = [simulator.run(replace(base, method=name)) for name in dict.fromkeys(names)]
    if timeline is not None:
        write_timeline(events_of(results), timeline, f"Simulated from {basis(recording.trace)} parts: {trace}")
        note(err, f"timeline: {timeline}")
    if report is not None:
        from sim.report.run import write_report

        write_report(simulator, results, report)
        note(err, f"report: {report}")
    if as_json:
        print(json.dumps(results_as_json(recording, results, left_out)))
    else:
        print_results(stdout(), recording, results)


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
