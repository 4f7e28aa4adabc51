"""``oospec-sim fidelity``: how far the simulator is off, against what was recorded."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from oospec_async.console.command import visible
from sim.fidelity.questions import Fidelity, fidelity
from sim.fidelity.times import Errors
from sim.honesty import models_line
from sim.output import console, writing
from sim.recording import Recording, open_recording

__all__ = ["Fidelity", "fidelity", "run_fidelity"]


def run_fidelity(path: Path, against: Sequence[Path], *, as_json: bool) -> None:
    """Raises OospecError if a trace cannot be read, or has no recorded rounds."""
    recording = open_recording(path)
    others = [open_recording(other) for other in against]
    found = fidelity(recording, others)
    with writing():
        if as_json:
            print(json.dumps(asdict(found)))
        else:
            _print(console(), recording, found)


def _print(out: Console, recording: Recording, found: Fidelity) -> None:
    title = f"Held-out requests ({found.method}): costs from one half, the other predicted, both ways"
    out.print(_table(title, found.held_out))
    same = found.rounds - found.rounds_differ
    out.print(Text(f"{same} of {found.rounds} recorded rounds verify and commit what the profiles say"))
    for each in found.counterfactuals:
        left_out = f"; {each.other_outputs} requests with other outputs left out" if each.other_outputs else ""
        out.print()
        out.print(_table(f"{each.trace}: {each.method} as {each.placement}{left_out}", each.errors))
    out.print(Text(visible(f"Predicted from {recording.source}: {models_line(recording.trace)}.")))


def _table(title: str, rows: Sequence[Errors]) -> Table:
    table = Table(
        title=Text(visible(title)), title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 0, 0, 2), pad_edge=False
    )
    for heading in ("", "requests", "recorded", "predicted", "of the mean", "of requests, p50", "p95"):
        table.add_column(heading, justify="right" if heading else "left")
    for row in rows:
        table.add_row(
            row.part,
            str(row.requests),
            f"{row.recorded * 1e3:.1f} ms",
            f"{row.predicted * 1e3:.1f} ms",
            f"{row.of_mean:+.1%}",
            f"{row.median:.1%}",
            f"{row.p95:.1%}",
        )
    return table
