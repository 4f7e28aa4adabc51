"""Measure what a rows file does not hold yet: open workers, serve, write the trace."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import Progress, TimeRemainingColumn

from oospec_async.console.output import COUNTED, note
from oospec_async.request import Request
from oospec_async.trace import write_trace
from tools.benchmark.fragments import Fragments, join, part_of
from tools.benchmark.history import History, beside_rows
from tools.benchmark.options import Options
from tools.benchmark.plan import Plan
from tools.benchmark.process import WorkerProcess
from tools.benchmark.rows import Header, Row, RowsFile
from tools.benchmark.session import Session
from tools.benchmark.worker import Spec


def measure(
    options: Options,
    plans: Sequence[Plan],
    requests: Sequence[Request],
    header: Header,
    path: Path,
    record: Path | None,
    err: Console,
) -> None:
    """Serve what the rows file ``path`` does not hold yet, and write the trace. Raises OospecError."""
    tell = functools.partial(note, err)
    history = path.with_name(path.name + ".state")
    fragments = Fragments(history / "trace.jsonl")
    with contextlib.ExitStack() as stack:
        stack.callback(fragments.close)
        begun = path.exists() and path.stat().st_size > 0
        rows = stack.enter_context(RowsFile(path, header)) if begun else None
        if rows is not None and len(rows.rows) == header.expected:
            tell(f"{path}: all {header.expected} rows are there; ask for more --runs, or remove it to measure anew")
        else:
            with beside_rows(history):
                history.mkdir(exist_ok=True)
            if rows is None:
                fragments.clear()
            elif record is not None:  # before hours of work, not after them
                known = fragments.read()
                for row in _recorded(rows, plans):
                    part_of(row, known)
            curves = dict(rows.header.curves) if rows is not None else {}
            workers = _open(options, plans, history, curves, tell, stack)
            if rows is None:
                rows = stack.enter_context(RowsFile(path, header.model_copy(update={"curves": curves})))
            # Drawn when a row ends, never by a thread of its own: that would disturb what is measured.
            progress = stack.enter_context(Progress(*COUNTED, TimeRemainingColumn(), console=err, auto_refresh=False))
            task = progress.add_task("rows", total=header.expected)

            def done(row: object) -> None:
                progress.advance(task)
                progress.refresh()

            kept = fragments if record is not None else None
            Session(plans, requests, header.runs, workers, rows, kept, done).serve()
            History(history).clear()
        if record is not None:
            write_trace(join(_recorded(rows, plans), fragments.read()), record)
            tell(f"trace: {record}")


def _recorded(rows: RowsFile, plans: Sequence[Plan]) -> list[Row]:
    """Rows that a trace is made of, in the order in which they were served."""
    traced = {each.name for each in plans if each.traced}
    return [row for row in rows.rows.values() if row.run == 0 and row.method in traced and row.measured is not None]


def _open(
    options: Options,
    plans: Sequence[Plan],
    history: Path,
    curves: dict[str, list[tuple[int, float]]],
    tell: Callable[[str], None],
    stack: contextlib.ExitStack,
) -> dict[str, WorkerProcess]:
    """Start every worker, by its name. ``curves``: those that are known; the others are added."""
    workers: dict[str, WorkerProcess] = {}
    for name in dict.fromkeys(each.worker for each in plans):
        mine = [each for each in plans if each.worker == name]
        spec = Spec(
            name=name,
            methods={each.name: each.base for each in mine},
            options=options.model_copy(update={"devices": mine[0].devices}),
            sidecar=any(each.entry.needs_sidecar for each in mine),
            drafter=any(each.entry.needs_draft_model for each in mine),
            cores=mine[0].cores,
            reuse=mine[0].reuse,
            curve=curves.get(name),
            history=history,
        )
        tell(f"worker {name}: {', '.join(spec.methods)}")
        log = history / f"worker-{len(workers)}.log"
        workers[name] = stack.enter_context(WorkerProcess(spec, lambda line: tell(f"  {line}"), log))
        # One after the other: each measures what a round costs.
        curves[name] = [(size, seconds) for size, seconds in workers[name].opened()["curve"]]
    return workers
