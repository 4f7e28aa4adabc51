"""The section that says of every figure what stands behind it."""

from __future__ import annotations

from collections.abc import Sequence

from oospec_async.trace import Trace
from sim.figures.provenance import basis, models_line
from sim.report.page import Mark, Paragraph, Section, Table

# Which parts of a trace each kind of figure is made from.
_MADE_FROM = {
    "tokens per round, rounds": ("outputs", "profiles", "hints"),
    "prefill and decode times, latencies": ("target timing", "host timing", "profiles", "hints"),
    "hint arrival, wave, sidecar": ("sidecar timing", "hints", "target timing"),
    "speedups": ("target timing", "host timing", "sidecar timing", "profiles", "hints", "outputs"),
}


def provenance_section(trace: Trace, notes: Sequence[str]) -> Section:
    parts = trace.provenance.parts
    rows: list[Sequence[str | Mark]] = [
        [part, Mark(origin.kind, f"kind {origin.kind}"), origin.how] for part, origin in parts.items()
    ]
    made = [[figures, _said(trace, names)] for figures, names in _MADE_FROM.items()]
    software = ", ".join(f"{name} {version}" for name, version in trace.provenance.software.items())
    return Section(
        "What stands behind these figures",
        [
            Paragraph(
                f"All times are simulated, from {basis(trace)} parts. {models_line(trace)}."
                + (f" {software}." if software else "")
            ),
            Table(["part of the trace", "", "how it came about, in its own words"], rows, "words"),
            Table(["figures", "made from"], made, "words"),
            *(Paragraph(f"Note: {note}", "faint") for note in notes),
        ],
    )


def _said(trace: Trace, names: Sequence[str]) -> str:
    parts = trace.provenance.parts
    return ", ".join(f"{name} ({parts[name].kind})" for name in names if name in parts)
