"""One run of ``oospec-sim``: methods under one scenario, as a table, JSON, a report and a timeline."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from oospec_async.console.output import note, stdout
from oospec_async.errors import OospecError
from oospec_async.files.writing import check_outputs
from oospec_async.timeline import check_timeline_path
from sim.costs.costs import Costs
from sim.costs.nanoseconds import NS
from sim.costs.recording import Recording, open_recording
from sim.figures.measure import decode, hidden, latency
from sim.figures.provenance import basis
from sim.figures.simulator import Result, Simulator
from sim.figures.table import behind, print_results
from sim.replay.replay import Served
from sim.scenario.interference import measure_interference
from sim.scenario.methods import DEFAULT_METHODS
from sim.scenario.scenario import Scenario


@dataclass(frozen=True)
class Options:
    trace: Path
    base: Scenario
    methods: Sequence[str] | None  # None: the default ones, as far as the trace has them
    colocated: Path | None = None
    as_json: bool = False
    report: Path | None = None
    timeline: Path | None = None


def run(options: Options) -> None:
    """Results go to stdout, notes to stderr. Raises OospecError."""
    inputs = (options.trace, options.colocated)
    check_outputs(inputs, {"--report": options.report, "--timeline": options.timeline})
    if options.timeline is not None:
        check_timeline_path(options.timeline)
    simulator = open_simulator(options.trace, options.colocated)
    err = Console(stderr=True)
    methods, left_out = (options.methods, {}) if options.methods is not None else playable(simulator)
    said = [f"left out: {', '.join(names)}: {why}" for why, names in left_out.items()]
    for line in said:
        note(err, line)
    scenarios = [replace(options.base, method=method) for method in dict.fromkeys(methods)]
    results = [simulator.run(scenario) for scenario in scenarios]
    if options.timeline is not None:
        from sim.figures.events import write

        write(results, options.timeline, f"Simulated from {basis(simulator.recording.trace)} parts: {options.trace}")
        note(err, f"timeline: {options.timeline}")
    if options.report is not None:
        from sim.report import write_report

        write_report(simulator, results, options.report)
        note(err, f"report: {options.report}")
    if options.as_json:
        found = as_json(simulator.recording, results)
        print(json.dumps(found | {"notes": [*found["notes"], *said]}))
    else:
        print_results(stdout(), simulator.recording, results)


def open_simulator(trace: Path, colocated: Path | None = None) -> Simulator:
    """Raises OospecError if a trace cannot be read or lacks what is needed."""
    recording = open_recording(trace)
    if colocated is None:
        return Simulator(recording)
    return Simulator(recording, measure_interference(open_recording(colocated), Costs(recording)))


def playable(simulator: Simulator) -> tuple[list[str], dict[str, list[str]]]:
    """Those of the default methods that the trace can replay, ar at least; and those that it cannot, by reason."""
    found: list[str] = []
    left_out: dict[str, list[str]] = {}
    for name in DEFAULT_METHODS:
        try:
            simulator.method(name)
        except OospecError as error:
            left_out.setdefault(str(error), []).append(name)
        else:
            found.append(name)
    return found, left_out


def as_json(recording: Recording, results: Sequence[Result]) -> dict[str, Any]:
    """Figures, and every request of every result. Times in seconds."""
    return {
        "simulated_from": basis(recording.trace),
        "trace": recording.source,
        "provenance": recording.trace.provenance.model_dump(mode="json"),
        "notes": behind(recording, results),
        "results": [
            result.as_json() | {"requests": [_request(served) for served in result.replay.served]} for result in results
        ],
    }


def _request(served: Served) -> dict[str, Any]:
    first = served.polls[0] if served.polls else None
    return {
        "request": served.script.request,
        "arrival": served.arrival / NS,
        "latency": latency(served),
        "ttft": (served.first_token - served.arrival) / NS,
        "decode": decode(served),
        "tokens": served.script.output,
        "rounds": len(served.rounds),
        "hint_arrival": (first[0] - served.start) / NS if first else None,
        "hint_position": first[1] if first else None,
        "wave_hidden": hidden(served),
    }
