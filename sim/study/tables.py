"""A study's rows as a table, on a terminal and in Markdown: what varies, and the figures that the study is about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from oospec_async.console.command import visible
from oospec_async.console.output import print_line
from oospec_async.console.table import Table, print_table
from oospec_async.trace import Trace
from sim.figures.measure import Figures, pick
from sim.figures.provenance import basis, models_line, provenance_lines
from sim.figures.table import form_of
from sim.study.assertions import Verdict
from sim.study.rows import Row
from sim.study.spec import Study

_COLUMNS = {
    "latency.mean": "latency",
    "latency.p95": "p95",
    "decode_speedup_vs_ar.mean": "decode over ar",
    "decode_speedup_vs_toolspec.mean": "decode over toolspec",
    "hint_arrival.p50": "hint at p50",
    "wave_hidden.mean": "wave hidden",
    "utilisation.sidecar": "sidecar busy",
}

_EXTRAPOLATED = "some forwards lie outside of what was sampled (--json tells which)"
_FOLDED = 24  # characters of an axis' value that stand in a line


def columns_of(study: Study) -> list[str]:
    """The usual figures, and those that assertions are about."""
    return list(dict.fromkeys([*_COLUMNS, *(assertion.metric for assertion in study.assertions)]))


def cells_of(study: Study, row: Row, columns: Sequence[str]) -> list[str]:
    figures: Figures = row["figures"]
    values = [pick(figures, column) for column in columns]
    axes = [plain(row["scenario"][axis]) for axis in study.axes]
    return [*axes, *("" if v is None else form_of(c)(v) for c, v in zip(columns, values, strict=True))]


def plain(value: object) -> str:
    return "recorded" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def verdict_lines(study: Study, verdicts: Sequence[Verdict]) -> list[tuple[bool, str]]:
    """Whether each assertion holds, and a line about it."""
    lines = []
    for verdict in verdicts:
        assertion, failures = verdict.assertion, verdict.failures
        about = f"{assertion.text} ({len(assertion.scenarios)} scenario{'s' * (len(assertion.scenarios) > 1)})"
        if failures:
            index, value = failures[0]
            found = "no such figure" if value is None else form_of(assertion.metric)(value)
            about += f": fails in {len(failures)}, first in {study.scenarios[index].label}: {found}"
        lines.append((not failures, about))
    return lines


def print_study(console: Console, study: Study, trace: Trace, rows: Sequence[Row], verdicts: Sequence[Verdict]) -> None:
    shown = [column for column in _COLUMNS if any(pick(row["figures"], column) is not None for row in rows)]
    title = f"{study.name}: {len(rows)} scenarios, simulated from {basis(trace)} parts"
    heads = [*study.axes, *(heading(column, basis(trace)).replace(" ", "\n") for column in shown)]
    cells = [cells_of(study, row, shown) for row in rows]
    print_table(console, Table(title, heads, cells, first=len(study.axes), least=_FOLDED, gap=1))
    for holds, line in verdict_lines(study, verdicts):
        mark = Text("holds  ", style="green") if holds else Text("FAILS  ", style="bold red")
        console.print(mark.append(visible(line), "not bold default"))
    for line in (f"Trace: {models_line(trace)}.", *provenance_lines(trace), *notes_of(rows)):
        print_line(console, line)


def study_markdown(study: Study, trace: Trace, rows: Sequence[Row], verdicts: Sequence[Verdict]) -> str:
    """A section with a table, the assertions, and what stands behind the figures."""
    columns = columns_of(study)
    heads = [*study.axes, *(heading(column, basis(trace)) for column in columns)]
    lines = [f"### {_escaped(study.name)}", "", *([_escaped(study.about), ""] if study.about else [])]
    lines += [_line(heads), _line(["---"] * len(study.axes) + ["---:"] * len(columns))]
    lines += [_line(cells_of(study, row, columns)) for row in rows]
    lines += ["", *(f"- {'✅' if holds else '❌'} {_escaped(line)}" for holds, line in verdict_lines(study, verdicts))]
    lines += ["", f"Simulated from {basis(trace)} parts. {_escaped(models_line(trace))}.", ""]
    lines += [f"- {_escaped(line)}" for line in (*provenance_lines(trace), *notes_of(rows))]
    return "\n".join([*lines, "", ""])


def notes_of(rows: Sequence[Row]) -> list[str]:
    """What was extrapolated or assumed, and in how many scenarios."""
    notes = (note for row in rows for note in row["notes"])
    counts = Counter(_EXTRAPOLATED if note.startswith("extrapolated") else note for note in notes)
    return [f"Note ({count} of {len(rows)} scenarios): {note}" for note, count in counts.items()]


def heading(column: str, kind: str) -> str:
    text = _COLUMNS.get(column) or column.replace("_vs_", " over ").replace("_", " ").replace(".", " ")
    return f"{text} {kind}" if "speedup" in column else text


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(_escaped(cell) for cell in cells)} |"


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")
