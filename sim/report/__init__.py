"""Reports: one web page each, that needs nothing from a network and says of every figure what stands behind it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from oospec_async.files.writing import write_atomically
from sim.figures.simulator import Result, Simulator
from sim.report.page import page
from sim.report.run import run_sections
from sim.report.study import study_sections
from sim.study.assertions import Verdict
from sim.study.rows import Row
from sim.study.spec import Study

__all__ = ["write_report", "write_study_report"]


def write_report(simulator: Simulator, results: Sequence[Result], path: Path) -> None:
    """Of one scenario by several methods, with what-ifs around it. Raises OospecError if it cannot be written."""
    title = f"Simulated tool calls: {Path(simulator.recording.source).name}"
    write_atomically(path, page(title, run_sections(simulator, results)), "--report")


def write_study_report(
    simulator: Simulator, study: Study, rows: Sequence[Row], verdicts: Sequence[Verdict], path: Path
) -> None:
    """Of a study. Raises OospecError if it cannot be written."""
    write_atomically(path, page(study.name, study_sections(simulator, study, rows, verdicts)), "--report")
