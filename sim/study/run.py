"""One run of ``oospec-sim study``."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from oospec_async.console.command import visible
from oospec_async.console.output import note, stdout
from oospec_async.errors import OospecError
from oospec_async.files.journal import Journal
from oospec_async.files.writing import check_outputs, write_atomically
from oospec_async.trace import Trace
from sim.figures.provenance import basis, provenance_lines
from sim.figures.simulator import open_simulator
from sim.study.assertions import Verdict, judge
from sim.study.rows import Row, open_rows
from sim.study.spec import Study, read_study
from sim.study.tables import print_study, study_markdown
from sim.study.workers import Task, workers_of


def run_study(
    study: Path,
    workers: str = "auto",
    *,
    as_json: bool = False,
    report: Path | None = None,
    markdown: Path | None = None,
    rows: Path | None = None,
) -> int:
    """Returns the exit code: 1 if an assertion failed. Raises OospecError; an interrupt keeps what was finished."""
    grid = read_study(study)
    kept = rows or Path(f"{study.stem}.rows.jsonl")
    check_outputs((study, grid.trace, grid.colocated), {"--rows": kept, "--report": report, "--markdown": markdown})
    simulator = open_simulator(grid.trace, grid.colocated)
    for method in dict.fromkeys(scenario.method for scenario in grid.scenarios):
        simulator.method(method)
    trace, err = simulator.recording.trace, Console(stderr=True)
    if grid.left_out:
        note(err, grid.left_out)
    found = _all_rows(grid, kept, workers, keep=rows is not None)
    verdicts = [judge(assertion, [row["figures"] for row in found]) for assertion in grid.assertions]
    if report is not None:
        from sim.study.report import write_study_report

        write_study_report(simulator, grid, found, verdicts, report)
        note(err, f"report: {report}")
    if markdown is not None:
        _append(markdown, study_markdown(grid, trace, found, verdicts))
    if as_json:
        print(json.dumps(study_as_json(grid, trace, found, verdicts)))
    else:
        print_study(stdout(), grid, trace, found, verdicts)
    for verdict in verdicts:
        for index, value in verdict.failures:
            what = "there is no such figure" if value is None else f"it is {value:.6g}"
            said = f"failed: {verdict.assertion.text}: {what} in {grid.scenarios[index].label}"
            click.echo(f"oospec-sim: {visible(said)}", err=True)
    return 1 if any(verdict.failures for verdict in verdicts) else 0


def study_as_json(study: Study, trace: Trace, rows: list[Row], verdicts: list[Verdict]) -> dict[str, Any]:
    """Everything that was found; the same for any number of workers."""
    return {
        "study": study.name,
        "simulated_from": basis(trace),
        "provenance": trace.provenance.model_dump(mode="json"),
        "notes": [*provenance_lines(trace), *([study.left_out] if study.left_out else [])],
        "rows": rows,
        "assertions": [
            {
                "that": verdict.assertion.text,
                "holds": not verdict.failures,
                "failed": [
                    {"scenario": study.scenarios[index].as_json(), "value": value} for index, value in verdict.failures
                ],
            }
            for verdict in verdicts
        ],
    }


def _all_rows(study: Study, path: Path, workers: str, *, keep: bool) -> list[Row]:
    kept, err = open_rows(path, study), Console(stderr=True)
    total, done = len(study.scenarios), False
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    try:
        task = Task(study.trace, study.colocated, study.scenarios[len(kept.rows) :])
        with (
            workers_of(workers, len(task.scenarios)) as run,
            Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as progress,
        ):
            bar = progress.add_task(visible(study.name), total=total, completed=len(kept.rows))
            for row in run(task) if task.scenarios else ():
                kept.add(row)
                progress.advance(bar)
        done = True
    except KeyboardInterrupt:
        click.echo(f"oospec-sim: {_kept(kept, total)}", err=True)
        raise
    except OospecError as error:
        raise OospecError(f"{error}; {_kept(kept, total)}" if kept.rows else str(error)) from None
    finally:
        if not keep and (done or not kept.written()):
            with contextlib.suppress(OSError):
                path.unlink()
        kept.close()
    return kept.rows


def _kept(kept: Journal[Row], total: int) -> str:
    said = f"{kept.written()} of {total} scenarios are finished and kept in {kept.path}"
    return f"{said}; the same command goes on from there"


def _append(path: Path, text: str) -> None:
    try:
        before = path.read_text(encoding="utf-8") if path.exists() else ""
    except (OSError, UnicodeDecodeError) as error:
        raise OospecError(f"--markdown {path}: cannot be read to be appended to: {error}") from None
    write_atomically(path, before + text, "--markdown")
