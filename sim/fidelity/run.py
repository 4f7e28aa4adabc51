"""One run of ``oospec-sim fidelity``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from rich.console import Console

from oospec_async.console.output import print_line, stdout
from oospec_async.console.table import Table, print_table
from sim.costs.recording import Recording, open_recording
from sim.fidelity.questions import Fidelity, fidelity
from sim.fidelity.times import Errors
from sim.figures.provenance import models_line


def run_fidelity(path: Path, against: Sequence[Path], *, as_json: bool) -> None:
    """Raises OospecError if a trace cannot be read, or has no recorded rounds."""
    recording = open_recording(path)
    others = [open_recording(other) for other in against]
    found = fidelity(recording, others)
    if as_json:
        print(json.dumps(asdict(found)))
    else:
        _print(stdout(), recording, found)


def _print(out: Console, recording: Recording, found: Fidelity) -> None:
    title = f"Held-out requests ({found.method}): costs from one half, the other predicted, both ways"
    print_table(out, _table(title, found.held_out))
    same = found.rounds - found.rounds_differ
    print_line(out, f"{same} of {found.rounds} recorded rounds verify and commit what the profiles say")
    for each in found.counterfactuals:
        left_out = f"; {each.other_outputs} requests with other outputs left out" if each.other_outputs else ""
        out.print()
        print_table(out, _table(f"{each.trace}: {each.method} as {each.placement}{left_out}", each.errors))
    print_line(out, f"Predicted from {recording.source}: {models_line(recording.trace)}.")


def _table(title: str, rows: Sequence[Errors]) -> Table:
    heads = ("", "requests", "recorded", "predicted", "of the mean", "of requests, p50", "p95")
    cells = [
        [
            row.part,
            str(row.requests),
            f"{row.recorded * 1e3:.1f} ms",
            f"{row.predicted * 1e3:.1f} ms",
            f"{row.of_mean:+.1%}",
            f"{row.median:.1%}",
            f"{row.p95:.1%}",
        ]
        for row in rows
    ]
    return Table(title, heads, cells)
