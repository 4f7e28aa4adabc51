"""The report of a study: the grid, the assertions, a plot for every axis, and all rows."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path

from oospec_async.files.writing import write_atomically
from oospec_async.request import Json
from sim.figures.measure import pick
from sim.figures.provenance import basis
from sim.figures.simulator import Simulator
from sim.report import charts
from sim.report.page import Mark, Pair, Paragraph, Plot, Section, Table, page
from sim.report.provenance import provenance_section
from sim.scenario.load import Closed
from sim.study.assertions import Verdict
from sim.study.rows import Row
from sim.study.spec import Study
from sim.study.tables import cells_of, columns_of, heading, notes_of, plain, verdict_lines

_MOST_LINES = 8
_WIDE, _STEEP = 8, 30  # largest over smallest value, from which on an axis is logarithmic
_PARAMETER = re.compile(r"([a-z-]+):([a-z_]+)=([0-9.e+-]+)")
_DECODE = ("decode_speedup_vs_toolspec.mean", "decode speedup over toolspec")
_ALL = ("speedup_vs_toolspec.mean", "speedup over toolspec, queueing included")
_LATENCY = ("latency.mean", "mean latency, ms")


def write_study_report(
    simulator: Simulator, study: Study, rows: Sequence[Row], verdicts: Sequence[Verdict], path: Path
) -> None:
    """Raises OospecError if it cannot be written."""
    write_atomically(path, page(study.name, _sections(simulator, study, rows, verdicts)), "--report")


def _sections(simulator: Simulator, study: Study, rows: Sequence[Row], verdicts: Sequence[Verdict]) -> list[Section]:
    trace = simulator.recording.trace
    kind = basis(trace)
    columns = columns_of(study)
    varied = [[axis, ", ".join(map(plain, values))] for axis, values in study.axes.items()]
    sections = [
        Section(
            f"{len(rows)} scenarios, simulated from {kind} parts; oospec-sim study {study.path.name}",
            [
                *([Paragraph(study.about)] if study.about else []),
                Table(["varied", "values"], varied, "words"),
            ],
        )
    ]
    if verdicts:
        said = [("holds" if holds else "fails", line) for holds, line in verdict_lines(study, verdicts)]
        marks: list[Sequence[str | Mark]] = [[Mark(verdict, verdict), line] for verdict, line in said]
        sections.append(Section("Assertions", [Table(["", "assertion"], marks, "words")]))
    sections += [_axis(study, rows, axis, kind) for axis in _plotted_axes(study)]
    heads = [*study.axes, *(heading(column, kind) for column in columns)]
    sections.append(Section("All scenarios", [Table(heads, [cells_of(study, row, columns) for row in rows])]))
    return [*sections, provenance_section(trace, notes_of(rows))]


def _plotted_axes(study: Study) -> list[str]:
    """Seeds are repetitions, to be averaged over; methods are lines rather than an axis, unless nothing else varies."""
    varied = [axis for axis in study.axes if len(study.axes[axis]) > 1 and axis != "seed"]
    return [axis for axis in varied if axis != "method"] or varied


def _axis(study: Study, rows: Sequence[Row], axis: str, kind: str) -> Section:
    """Two figures against one axis, with a line for each combination of the others."""
    others = [name for name in study.axes if name not in (axis, "seed") and len(study.axes[name]) > 1]
    series: dict[str, list[Row]] = {}
    for row in rows:
        series.setdefault(", ".join(_named(other, row["scenario"][other]) for other in others), []).append(row)
    shown = dict(list(series.items())[:_MOST_LINES])
    seeds = len(study.axes.get("seed", ()))
    means = f"means over {seeds} seeds, {kind}" if seeds > 1 else kind
    queues = any(row["scenario"]["load"] != Closed.name for row in rows)
    left, right = (
        Plot(_drawn(shown, axis, metric, label), f"({means})", f"{label[0].upper()}{label[1:]}.")
        for metric, label in (_ALL if queues else _DECODE, _LATENCY)
    )
    body: list[Pair | Paragraph] = [Pair(left, right)]
    if len(shown) < len(series):
        body.append(Paragraph(f"The first {len(shown)} of {len(series)} combinations of {', '.join(others)}.", "faint"))
    return Section(f"Against {axis.replace('_', ' ')}", body)


def _named(axis: str, value: object) -> str:
    return value if isinstance(value, str) else f"{axis.replace('_', ' ')} {plain(value)}"


def _drawn(series: dict[str, list[Row]], axis: str, metric: str, label: str) -> dict[str, Json]:
    scale = 1e3 if label.endswith("ms") else 1.0
    values = list(dict.fromkeys(row["scenario"][axis] for rows in series.values() for row in rows))
    points = {name: [_mean(rows, axis, value, metric, scale) for value in values] for name, rows in series.items()}
    found = [y for ys in points.values() for y in ys if y is not None]
    steep = bool(found) and min(found) > 0 and max(found) / min(found) > _STEEP
    numbers, title = numeric(axis, values)
    if numbers is None:
        return charts.bars([plain(value) for value in values], [(n or label, ys) for n, ys in points.items()], label)
    lines = []
    for name, ys in points.items():
        known = [(x, y) for x, y in zip(numbers, ys, strict=True) if y is not None and math.isfinite(x)]
        lines.append((name or label, [x for x, _ in known], [y for _, y in known]))
    finite = [x for x in numbers if math.isfinite(x)]
    wide = bool(finite) and min(finite) > 0 and max(finite) / min(finite) >= _WIDE
    return charts.lines(lines, title, label, log=wide, log_y=steep)


def numeric(axis: str, values: Sequence[object]) -> tuple[list[float] | None, str]:
    """The values as numbers, if they are or differ in one parameter (``poisson:rate=1``), and what to call them."""
    title = axis.replace("_", " ")
    if all((isinstance(value, int | float) and not isinstance(value, bool)) or value == "inf" for value in values):
        return [float(value) for value in values if isinstance(value, int | float | str)], title
    found = [_PARAMETER.fullmatch(str(value)) for value in values]
    heads = {match.group(1, 2) for match in found if match is not None}
    if None in found or len(heads) != 1:
        return None, title
    name, key = heads.pop()
    return [float(match.group(3)) for match in found if match is not None], f"{name} {key}"


def _mean(rows: Sequence[Row], axis: str, value: object, metric: str, scale: float) -> float | None:
    """Over the rows (seeds) that have this value on the axis."""
    found = [pick(row["figures"], metric) for row in rows if row["scenario"][axis] == value]
    known = [each for each in found if each is not None]
    return sum(known) / len(known) * scale if known else None
