"""Several benchmarks side by side: speedups by set of requests and target, with unweighted means.

This is the form in which speculation papers report. A mean of ratios weighs every cell alike, however long its outputs
are, so the cells stand beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from oospec_async.console.table import Table
from oospec_async.errors import OospecError
from tools.benchmark.report.summary import MethodFigures, Summary


@dataclass(frozen=True)
class Cell:
    """One file of rows. Speedups by method are over the file's baseline."""

    target: str
    requests: str  # the file's name, without its endings
    count: int
    baseline: str
    decode: Mapping[str, float]
    total: Mapping[str, float]


@dataclass(frozen=True)
class Matrix:
    """Means are of cells, each counted once; ``target`` "" stands for all targets."""

    methods: Sequence[str]
    cells: Sequence[Cell]
    means: Sequence[Cell]


def matrix(summaries: Mapping[Path, Summary]) -> Matrix:
    """Raises OospecError where files have other baselines or share no method."""
    first = next(iter(summaries.values()))
    for path, summary in summaries.items():
        if summary.baseline != first.baseline:
            raise OospecError(f"{path}: speedups are over {summary.baseline}, elsewhere over {first.baseline}")
    methods = [
        name
        for name in first.methods
        if name != first.baseline and all(name in summary.methods for summary in summaries.values())
    ]
    if not methods:
        raise OospecError(f"no method beside {first.baseline} is in all of these files; name files that share one")
    cells = [_cell(path, summary, methods) for path, summary in summaries.items()]
    means = []
    for target in dict.fromkeys(cell.target for cell in cells):
        means.append(_mean(target, [cell for cell in cells if cell.target == target], methods))
    if len(means) > 1:
        means.append(_mean("", cells, methods))
    return Matrix(methods, cells, means)


def _cell(path: Path, summary: Summary, methods: Sequence[str]) -> Cell:
    def speedups(of: Callable[[MethodFigures], float | None]) -> dict[str, float]:
        found = {name: of(summary.methods[name]) for name in methods}
        return {name: speedup for name, speedup in found.items() if speedup is not None}

    return Cell(
        target=summary.header.fingerprint.target.name,
        requests=path.name.removesuffix(".jsonl").removesuffix(".rows"),
        count=summary.requests,
        baseline=summary.baseline,
        decode=speedups(lambda figures: figures.decode_speedup.median if figures.decode_speedup else None),
        total=speedups(lambda figures: figures.total_speedup.median),
    )


def _mean(target: str, cells: Sequence[Cell], methods: Sequence[str]) -> Cell:
    def means(of: Callable[[Cell], Mapping[str, float]]) -> dict[str, float]:
        return {name: fmean(of(c)[name] for c in cells) for name in methods if all(name in of(c) for c in cells)}

    count = sum(cell.count for cell in cells)
    return Cell(target, "", count, cells[0].baseline, means(lambda c: c.decode), means(lambda c: c.total))


def table(found: Matrix) -> Table:
    """Each cell: the decode's speedup, and that of whole requests."""
    named = [(cell.target, cell.requests, cell) for cell in found.cells]
    named += [(cell.target or "all", "unweighted mean", cell) for cell in found.means]
    rows = [[*names, str(cell.count), *_speedups(cell, found.methods)] for *names, cell in named]
    title = f"Speedup over {found.cells[0].baseline}: decode, and whole requests in brackets"
    return Table(title, ["target", "requests", "", *found.methods], rows, first=2)


def _speedups(cell: Cell, methods: Sequence[str]) -> list[str]:
    return [
        (f"{cell.decode[name]:.2f}x " if name in cell.decode else "") + f"({cell.total[name]:.2f}x)" for name in methods
    ]
