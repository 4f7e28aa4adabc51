"""One benchmark: run by run, request by request, every method in its turn, only one of them at work at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from oospec_async.request import Request
from tools.benchmark.fragments import Fragments
from tools.benchmark.order import method_order, request_order
from tools.benchmark.plan import Plan, source
from tools.benchmark.process import WorkerProcess
from tools.benchmark.rows import Row, RowsFile


@dataclass
class Session:
    """``workers``: by ``Plan.worker``. ``done`` is called for every row, those that were there already included."""

    plans: Sequence[Plan]
    requests: Sequence[Request]
    runs: int
    workers: Mapping[str, WorkerProcess]
    rows: RowsFile
    fragments: Fragments | None = None  # --record
    done: Callable[[Row], object] = lambda row: None
    _outputs: dict[tuple[str, str], list[int]] = field(default_factory=dict)  # by request and method

    def serve(self) -> None:
        """Serve what is not in the rows file yet. Raises OospecError if a worker ends."""
        for row in self.rows.rows.values():
            self._note_output(row)
        for run in range(self.runs):
            self._run(run)

    def _run(self, run: int) -> None:
        order = request_order(self.requests, run)
        counts = {plan.name: self._count(plan, run, order) for plan in self.plans}
        if all(count == len(order) for count in counts.values()):
            for known in self.rows.rows.values():
                if known.run == run:
                    self.done(known)
            return
        for worker in self.workers.values():
            worker.ask({"begin": run})
        for plan in self.plans:
            if count := counts[plan.name]:
                last = order[count - 1].model_dump(mode="json")
                self.workers[plan.worker].ask(
                    {"resume": {"method": plan.name, "run": run, "count": count, "last": last}}
                )
        for index, request in enumerate(order):
            turn = run * len(order) + index
            for plan in method_order(self.plans, turn, first_run=run == 0):
                row = self.rows.rows.get((run, request.id, plan.name))
                if row is None:
                    row = self._row(plan, run, index, request)
                    self.rows.add(row)
                    self._note_output(row)
                self.done(row)

    def _count(self, plan: Plan, run: int, order: Sequence[Request]) -> int:
        """How many requests of a run this method has been through; they are its first ones."""
        return sum((run, request.id, plan.name) in self.rows.rows for request in order)

    def _row(self, plan: Plan, run: int, index: int, request: Request) -> Row:
        known: list[int] | None = []
        if plan.entry.after:
            given = source(plan, self.plans)
            assert given is not None  # the plan was checked
            known = self._outputs.get((request.id, given))
        record = self.fragments is not None and run == 0 and plan.traced
        job = {
            "method": plan.name,
            "run": run,
            "count": index,
            "request": request.model_dump(mode="json"),
            "known": known,
            "record": record,
            "cold": plan.cold,
        }
        answer: dict[str, Any] = self.workers[plan.worker].ask({"serve": job})
        if record and "trace" in answer and self.fragments is not None:
            self.fragments.add(request.id, plan.name, answer["trace"])
        return Row(
            run=run,
            request=request.id,
            method=plan.name,
            measured=answer.get("measured"),
            error=answer.get("error", ""),
        )

    def _note_output(self, row: Row) -> None:
        if row.measured is not None:
            self._outputs[row.request, row.method] = row.measured.tokens
