"""What stands behind a figure: recorded or modelled, and the trace's own words about how."""

from __future__ import annotations

from oospec_async.trace import ModelInfo, Trace


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


def _model(model: ModelInfo) -> str:
    adapter = f" with {model.adapter}" if model.adapter else ""
    return f"{model.name}{adapter} ({model.dtype}) on {model.device}"
