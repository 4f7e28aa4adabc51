"""One run of ``oospec-sim live``: the live engine on a virtual clock, over the times of a recorded trace."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress

from oospec_async.commands.summary import summarise
from oospec_async.commands.terminal import print_figures
from oospec_async.console.output import COUNTED, note, print_line, stdout
from oospec_async.decoding.drafters import drafters_of
from oospec_async.errors import OospecError
from oospec_async.files.writing import check_outputs
from oospec_async.timeline import check_timeline_path, write_timeline
from sim.costs.costs import Costs
from sim.costs.recording import Recording, open_recording
from sim.figures.provenance import NO_LINK, basis, models_line, provenance_lines, slowdown_note
from sim.live.serve import VirtualRun, serve
from sim.replay.timetable import Timetable, write_timetable
from sim.scenario.methods import DEFAULT_METHODS, Method, find_method, playable
from sim.scenario.parameters import suggestion
from sim.scenario.placement import Placement, parse_placement


@dataclass(frozen=True)
class _Done:
    """All methods over one recording."""

    recording: Recording
    placement: Placement
    costs: Costs
    timetables: Mapping[str, Sequence[Timetable]]  # by method
    runs: Mapping[str, VirtualRun]

    @property
    def basis(self) -> str:
        trace = self.recording.trace
        return f"Simulated on a virtual clock from {basis(trace)} parts: {self.recording.source}"

    @property
    def notes(self) -> list[str]:
        return [*self._waves(), *self._beyond()]

    def _waves(self) -> Iterator[str]:
        waves = any(run.waves for run in self.runs.values())
        if waves and not len(self.costs.links):
            yield NO_LINK
        if waves and self.placement.layout().sharing == "fair":
            yield slowdown_note(self.placement)
        for method, run in self.runs.items():
            late = len(run.waves) - sum(c.metrics.hint.wave_seconds is not None for c in run.completions)
            if late:
                yield (
                    f"{method}: {late} of {len(run.waves)} waves were cut off: their decode had ended before; "
                    f"the wave's figures are of the others"
                )

    def _beyond(self) -> Iterator[str]:
        for method, run in self.runs.items():
            outside = {
                (timetable.request, position, size)
                for timetable in self.timetables[method]
                for rounds in timetable.rounds.values()
                for position, (size, flag) in enumerate(zip(rounds.tokens, rounds.beyond or (), strict=False), start=1)
                if flag
            }
            rounds = [event for event in run.events if event.name == "verify"]
            found = sum((e.request, e.data["position"], e.data["tokens"]) in outside for e in rounds)
            if found:
                yield (
                    f"{method}: {found} of {len(rounds)} verifies lie outside of what was sampled "
                    f"({self.costs.target_verify.known}) and are extrapolated"
                )


def run_live(
    trace: Path,
    placement: str = "split",
    methods: Sequence[str] | None = None,
    *,
    limit: int | None = None,
    as_json: bool = False,
    timeline: Path | None = None,
) -> None:
    """Serve the trace's requests by every method; None: the default ones that an engine has, as far as they go.

    ``limit``: of requests. Results go to stdout, progress to stderr. Raises OospecError.
    """
    placed = parse_placement(placement)
    check_outputs([trace], {"--timeline": timeline})
    if timeline is not None:
        check_timeline_path(timeline)
    recording = open_recording(trace)
    known = dict.fromkeys(("ar", "toolspec", *recording.runs))
    names = methods or playable(recording, [name for name in DEFAULT_METHODS if name in known])[0]
    for name in names:
        if name not in known:
            raise OospecError(f"method {name!r} was not recorded in {recording.source}; {suggestion(name, known)}")
        drafters_of(name)
    err = Console(stderr=True)
    done = _run(recording, placed, [find_method(recording, name) for name in names], limit, err)
    if timeline is not None:
        write_timeline([event for run in done.runs.values() for event in run.events], timeline, done.basis)
        note(err, f"timeline: {timeline}")
    if as_json:
        print(json.dumps(_as_json(done, placement)))
    else:
        _print(stdout(), done)


def _run(
    recording: Recording, placement: Placement, methods: Sequence[Method], limit: int | None, err: Console
) -> _Done:
    costs = Costs(recording)
    timetables = {
        method.name: [write_timetable(method, request, costs) for request in method.requests[:limit]]
        for method in methods
    }
    with Progress(*COUNTED, console=err, transient=True) as progress:
        task = progress.add_task("requests x methods", total=sum(map(len, timetables.values())))
        try:
            runs = {
                name: serve(each, name, placement.layout(), lambda: progress.advance(task))
                for name, each in timetables.items()
            }
        except OospecError as error:
            raise OospecError(f"{recording.source}: {error}") from None
    return _Done(recording, placement, costs, timetables, runs)


def _print(out: Console, done: _Done) -> None:
    completions = [completion for run in done.runs.values() for completion in run.completions]
    print_figures(out, summarise(completions), f"{done.basis}. Nothing was decoded.")
    trace, placement = done.recording.trace, done.placement
    about = f"Placement: {placement.name}; {placement.about}. A request is taken when the one before has ended."
    notes = [f"Note: {note}" for note in done.notes]
    for line in [about, f"Trace: {models_line(trace)}.", *provenance_lines(trace), *notes]:
        print_line(out, line)


def _as_json(done: _Done, placement: str) -> dict[str, Any]:
    completions = [completion for run in done.runs.values() for completion in run.completions]
    summaries = [asdict(summary) for summary in summarise(completions)]
    for summary in summaries:
        del summary["differences"]  # there are no outputs to compare
    trace = done.recording.trace
    return {
        "simulated_from": basis(trace),
        "trace": done.recording.source,
        "placement": placement,
        "provenance": trace.provenance.model_dump(mode="json"),
        "notes": done.notes,
        "summary": summaries,
        "completions": [
            {"request": completion.request, "method": completion.method, "metrics": asdict(completion.metrics)}
            | {"mean_accepted": completion.metrics.mean_accepted}
            for completion in completions
        ],
    }
