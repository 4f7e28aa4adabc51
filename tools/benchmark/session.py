"""One benchmark: run by run, request by request, every method in its turn, only one worker at work at a time."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.progress import Progress, TimeRemainingColumn

from oospec_async.console.output import COUNTED, note
from oospec_async.decoding.drafters.needs import CHAINS, HINTS
from oospec_async.files.writing import write_atomically
from oospec_async.request import Request
from tools.benchmark.options import Options
from tools.benchmark.plan import Plan, method_order, request_order, source
from tools.benchmark.process import Spec, WorkerProcess
from tools.benchmark.rows import Header, Row, RowsFile
from tools.benchmark.worker import work


def measure(
    options: Options, plans: Sequence[Plan], requests: Sequence[Request], header: Header, path: Path, err: Console
) -> None:
    """Serve what the rows file ``path`` does not hold yet. Raises OospecError."""
    tell = functools.partial(note, err)
    log = path.with_name(path.name + ".log")
    with ExitStack() as stack:
        begun = path.exists() and path.stat().st_size > 0
        rows = stack.enter_context(RowsFile(path, header)) if begun else None
        if rows is not None and len(rows.rows) == header.expected:
            tell(f"{path}: all {header.expected} rows are there; ask for more --runs, or remove it to measure anew")
            return
        write_atomically(log, "", "the log of --rows")
        curves = dict(rows.header.curves) if rows is not None else {}
        workers = _open(options, plans, log, curves, tell, stack)
        if rows is None:
            rows = stack.enter_context(RowsFile(path, header.model_copy(update={"curves": curves})))
        # Drawn when a row ends, never by a thread of its own: that would disturb what is measured.
        progress = stack.enter_context(Progress(*COUNTED, TimeRemainingColumn(), console=err, auto_refresh=False))
        task = progress.add_task("rows", total=header.expected)
        Session(plans, requests, workers, rows, lambda: progress.update(task, advance=1, refresh=True)).serve()


def _open(
    options: Options,
    plans: Sequence[Plan],
    log: Path,
    curves: dict[str, list[tuple[int, float]]],
    tell: Callable[[str], None],
    stack: ExitStack,
) -> dict[str, WorkerProcess]:
    """Start every worker, by its name. ``curves``: those that are known; the others are added."""
    workers: dict[str, WorkerProcess] = {}
    for name in dict.fromkeys(each.worker for each in plans):
        mine = [each for each in plans if each.worker == name]
        spec = Spec(
            name=name,
            methods={each.name: each.base for each in mine},
            options=options.model_copy(update={"devices": mine[0].devices}),
            sidecar=any(HINTS in each.entry.needs for each in mine),
            drafter=any(CHAINS in each.entry.needs for each in mine),
            cores=mine[0].cores,
            reuse=mine[0].reuse,
            curve=curves.get(name),
        )
        tell(f"worker {name}: {', '.join(spec.methods)}")
        workers[name] = stack.enter_context(WorkerProcess(work, spec, lambda line: tell(f"  {line}"), log))
        curves[name] = workers[name].opened()  # one after the other: each measures what a round costs
    return workers


@dataclass
class Session:
    """``workers``: by ``Plan.worker``. ``done`` is called for every row, those that were there already included."""

    plans: Sequence[Plan]
    requests: Sequence[Request]
    workers: Mapping[str, WorkerProcess]
    rows: RowsFile
    done: Callable[[], object] = lambda: None
    _outputs: dict[tuple[str, str], list[int]] = field(default_factory=dict)  # by request and method

    def serve(self) -> None:
        """Serve what is not in the rows file yet. Raises OospecError if a worker ends."""
        for row in self.rows.rows.values():
            self._note_output(row)
        for run in range(self.rows.header.runs):
            self._run(run, request_order(self.requests, run))

    def _run(self, run: int, order: Sequence[Request]) -> None:
        rows = self.rows.rows
        if all((run, request.id, plan.name) in rows for request in order for plan in self.plans):
            for _ in range(len(order) * len(self.plans)):
                self.done()
            return
        for worker in self.workers.values():
            worker.ask("begin")
        for index, request in enumerate(order):
            turn = run * len(order) + index
            for plan in method_order(self.plans, turn, first_run=run == 0):
                row = self._row(plan, run, request)
                if row.key not in rows:  # else it is served once more for what the method learns of it
                    self.rows.add(row)
                    self._note_output(row)
                self.done()

    def _row(self, plan: Plan, run: int, request: Request) -> Row:
        known: list[int] | None = []
        if (given := source(plan, self.plans)) is not None:
            known = self._outputs.get((request.id, given))
        worker = self.workers[plan.worker]
        found = worker.ask("serve", method=plan.name, request=request, known=known, cold=plan.cold)
        outcome = {"error": found} if isinstance(found, str) else {"measured": found}
        return Row.model_validate({"run": run, "request": request.id, "method": plan.name, **outcome})

    def _note_output(self, row: Row) -> None:
        if row.measured is not None:
            self._outputs[row.request, row.method] = row.measured.tokens
