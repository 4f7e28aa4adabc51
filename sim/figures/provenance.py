"""What stands behind a figure: recorded or modelled, the trace's own words about how, and what is assumed."""

from __future__ import annotations

from oospec_async.trace import ModelInfo, Trace
from sim.scenario.interference import Interference
from sim.scenario.placement import Placement

NO_LINK = "link: the trace has no samples of it; hints arrive at the instant of their publish"


def basis(trace: Trace) -> str:
    """``recorded``, ``modelled`` or ``partly modelled``: of the trace's parts together."""
    kinds = {origin.kind for origin in trace.provenance.parts.values()}
    return kinds.pop() if len(kinds) == 1 else "partly modelled"


def provenance_lines(trace: Trace) -> list[str]:
    """One line for each way in which parts of the trace came about, in the trace's own words."""
    ways: dict[tuple[str, str], list[str]] = {}
    for part, origin in trace.provenance.parts.items():
        ways.setdefault((origin.kind, origin.how), []).append(part)
    return [f"{', '.join(parts)}: {kind.upper()}; {how}" for (kind, how), parts in ways.items()]


def models_line(trace: Trace) -> str:
    """Target, sidecar, devices and date."""
    sidecar = trace.provenance.sidecar
    beside = f", sidecar {_model(sidecar)}" if sidecar is not None else ""
    return f"{_model(trace.provenance.target)}{beside}; {trace.provenance.date[:10]}"


def slowdown_note(placement: Placement, interference: Interference | None = None) -> str:
    """For a placement that is shared fairly."""
    measured = interference.slowdown if interference is not None else None
    target, sidecar = placement.layout(measured).slowdown
    how = interference.how if interference is not None else "assumed, not measured"
    said = f"while both models are busy, the target takes {target:.2f} and the sidecar {sidecar:.2f} times as long"
    return f"{placement.name}: {said} ({how})"


def _model(model: ModelInfo) -> str:
    adapter = f" with {model.adapter}" if model.adapter else ""
    return f"{model.name}{adapter} ({model.dtype}) on {model.device}"
