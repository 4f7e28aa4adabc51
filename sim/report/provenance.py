"""The section that says of every figure what stands behind it."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from oospec_async.trace import Trace
from sim.figures.provenance import basis, models_line
from sim.report.page import Section, paragraph, table

# Which parts of a trace each kind of figure is made from.
_MADE_FROM = {
    "tokens per round, rounds": ("outputs", "profiles", "hints"),
    "prefill and decode times, latencies": ("target timing", "host timing", "profiles", "hints"),
    "hint arrival, wave, sidecar": ("sidecar timing", "hints", "target timing"),
    "speedups": ("target timing", "host timing", "sidecar timing", "profiles", "hints", "outputs"),
}


def provenance_section(trace: Trace, notes: Sequence[str]) -> Section:
    parts = trace.provenance.parts
    rows = [("", [escape(part), _kind(origin.kind), escape(origin.how)]) for part, origin in parts.items()]
    made = [("", [escape(figures), escape(_said(trace, names))]) for figures, names in _MADE_FROM.items()]
    software = ", ".join(f"{name} {version}" for name, version in trace.provenance.software.items())
    return Section(
        "What stands behind these figures",
        [
            paragraph(
                f"All times are simulated, from {basis(trace)} parts. {models_line(trace)}."
                + (f" {software}." if software else "")
            ),
            table(["part of the trace", "", "how it came about, in its own words"], rows, "words"),
            table(["figures", "made from"], made, "words"),
            *(paragraph(f"Note: {note}", "faint") for note in notes),
        ],
    )


def _kind(kind: str) -> str:
    return f'<span class="kind {kind}">{kind}</span>'


def _said(trace: Trace, names: Sequence[str]) -> str:
    parts = trace.provenance.parts
    return ", ".join(f"{name} ({parts[name].kind})" for name in names if name in parts)
