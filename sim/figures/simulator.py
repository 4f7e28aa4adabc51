"""From a recording and a scenario to figures: the replay, its baselines, and what must be said about them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from oospec_async.errors import OospecError
from sim.costs.costs import Costs
from sim.costs.jitter import Jitter
from sim.costs.recording import Recording, open_recording
from sim.figures.measure import Figures, measure, speedups
from sim.figures.notes import notes_on
from sim.replay.replay import Replay, Setting
from sim.replay.replay import replay as run_replay
from sim.replay.timetable import Timetable, write_timetable
from sim.scenario.interference import Interference, measure_interference
from sim.scenario.methods import Method, find_method
from sim.scenario.placement import Law
from sim.scenario.scenario import Scenario

BASELINES = ("ar", "toolspec")

Common = tuple[str, ...]  # requests that two methods have in common, with the same output


@dataclass(frozen=True)
class Result:
    """One scenario: its figures, what a reader must know of them, and the replay that they were measured on."""

    scenario: Scenario
    figures: Figures
    notes: tuple[str, ...]
    replay: Replay = field(repr=False)

    def as_json(self) -> dict[str, Any]:
        return {"scenario": self.scenario.as_json(), "figures": self.figures, "notes": list(self.notes)}


class Simulator:
    """Runs scenarios over one recording. What scenarios have in common (timetables, baselines) is worked out once."""

    def __init__(
        self, recording: Recording, interference: Interference | None = None, costs: Costs | None = None
    ) -> None:
        """``interference``: what two models on one device do to each other, as measured; ``costs``: of a subset."""
        self.recording = recording
        self.interference = interference
        self._costs = costs or Costs(recording)
        self._methods: dict[str, Method] = {}
        self._output_tokens: dict[str, dict[str, int]] = {}
        self._timetables: dict[tuple[str, int | None, Law | None], tuple[Timetable, ...]] = {}
        self._jitter: Jitter | None = None
        self._alone: dict[tuple[Scenario, Common | None], Replay] = {}

    def run(self, scenario: Scenario) -> Result:
        """Raises OospecError for a method that the recording cannot replay."""
        done = self.replay(scenario)
        figures = measure(done) | {"devices": self._devices(scenario)}
        wave = self.method(scenario.method).wave
        notes = list(notes_on(scenario, done, self._costs, self.interference, wave=wave))
        for name in BASELINES:
            figures |= self._speedups(scenario, done, name, notes)
        return Result(scenario, figures, tuple(notes), done)

    def method(self, name: str) -> Method:
        if name not in self._methods:
            self._methods[name] = find_method(self.recording, name)
        return self._methods[name]

    def timetables(self, method: str, jitter: int | None = None, law: Law | None = None) -> tuple[Timetable, ...]:
        """Of all requests, in the recording's order. ``jitter``: a seed; None: typical times. ``law``: the target's."""
        key = (method, jitter, law if self.method(method).fitted else None)
        if key not in self._timetables:
            if jitter is not None and (self._jitter is None or self._jitter.seed != jitter):
                self._jitter = Jitter(jitter)
                # A study over many seeds would keep them all.
                self._timetables = {
                    known: timetables for known, timetables in self._timetables.items() if known[1] is None
                }
            found, noise = self.method(method), None if jitter is None else self._jitter
            self._timetables[key] = tuple(write_timetable(found, r, self._costs, noise, key[2]) for r in found.requests)
        return self._timetables[key]

    def replay(self, scenario: Scenario, only: Common | None = None) -> Replay:
        """The timeline of a scenario (``only``: of these requests); of methods without a wave it is worked out once."""
        if self.method(scenario.method).wave:
            return self._replay(scenario, only)
        key = scenario.alone, only
        if key not in self._alone:
            self._alone = dict(list(self._alone.items())[-15:])
            self._alone[key] = self._replay(*key)
        return self._alone[key]

    def _replay(self, scenario: Scenario, only: Common | None) -> Replay:
        measured = self.interference.slowdown if self.interference is not None else None
        layout = scenario.placement.layout(measured)
        timetables = self.timetables(scenario.method, scenario.seed if scenario.jitter else None, layout.target_alone)
        if only is not None:
            wanted = set(only)
            timetables = tuple(timetable for timetable in timetables if timetable.request in wanted)
        setting = Setting(
            layout=layout,
            link=scenario.link,
            targets=scenario.targets,
            sidecars=scenario.sidecars,
            scale_sidecar=scenario.scale_sidecar,
        )
        return run_replay(
            timetables,
            setting,
            scenario.load.arrivals([timetable.arrival_ns for timetable in timetables], scenario.seed),
        )

    def _speedups(self, scenario: Scenario, done: Replay, name: str, notes: list[str]) -> Figures:
        """Over a baseline, on the requests that both have with the same output; ``notes`` say which are left out."""
        try:
            other = self._outputs(name)
        except OospecError as error:
            if scenario.method not in BASELINES:
                notes.append(f"no speedup over {name}: {error}")
            return {}
        mine = self._outputs(scenario.method)
        both = mine.keys() & other.keys()
        common = tuple(request for request in mine if request in both and mine[request] == other[request])
        against = replace(scenario, method=name)
        if len(common) == len(mine) == len(other):
            return speedups(done, self.replay(against), name)
        notes.append(
            f"speedup over {name}: on a replay of the {len(common)} requests that both have with one length of output; "
            f"left out: {len(both) - len(common)} with another output, {len(mine.keys() ^ both)} without {name}, "
            f"{len(other.keys() ^ both)} with {name} only"
        )
        return speedups(self.replay(scenario, common), self.replay(against, common), name) if common else {}

    def _outputs(self, name: str) -> dict[str, int]:
        """Output tokens by request: with greedy decoding, other lengths are other outputs."""
        if name not in self._output_tokens:
            found = self.method(name)
            self._output_tokens[name] = {r: found.drafts(r).run.output_tokens for r in found.requests}
        return self._output_tokens[name]

    def _devices(self, scenario: Scenario) -> int:
        layout = scenario.placement.layout()
        sidecars = scenario.sidecars * layout.sidecar_devices if self.method(scenario.method).wave else 0
        return scenario.targets * layout.target_devices + sidecars


def open_simulator(trace: Path, colocated: Path | None = None) -> Simulator:
    """``colocated``: a trace of both models on one device. Raises OospecError."""
    recording = open_recording(trace)
    if colocated is None:
        return Simulator(recording)
    return Simulator(recording, measure_interference(open_recording(colocated), Costs(recording)))
