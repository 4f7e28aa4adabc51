"""Results as JSON: figures, and every request of every result. Times in seconds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sim.costs.nanoseconds import NS
from sim.costs.recording import Recording
from sim.figures.measure import decode, hidden, latency
from sim.figures.provenance import basis
from sim.figures.simulator import Result
from sim.figures.table import behind
from sim.replay.replay import Served


def results_as_json(recording: Recording, results: Sequence[Result], notes: Sequence[str] = ()) -> dict[str, Any]:
    """``notes``: to be told beside those of the results."""
    return {
        "simulated_from": basis(recording.trace),
        "trace": recording.source,
        "provenance": recording.trace.provenance.model_dump(mode="json"),
        "notes": [*behind(recording, results), *notes],
        "results": [
            result.as_json() | {"requests": [_request(served) for served in result.replay.served]} for result in results
        ],
    }


def _request(served: Served) -> dict[str, Any]:
    first = served.polls[0] if served.polls else None
    return {
        "request": served.timetable.request,
        "arrival": served.arrival / NS,
        "latency": latency(served),
        "ttft": (served.first_token - served.arrival) / NS,
        "decode": decode(served),
        "tokens": served.timetable.output,
        "rounds": len(served.rounds),
        "hint_arrival": (first[0] - served.start) / NS if first else None,
        "hint_position": first[1] if first else None,
        "wave_hidden": hidden(served),
    }
