"""From a recording and a scenario to figures: scripts, the replay, its baselines, and what must be said about them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from oospec_async.errors import OospecError
from sim.costs import Costs
from sim.interference import Interference
from sim.jitter import Jitter
from sim.measure import Figures, measure, speedups
from sim.methods import Method, find_method
from sim.notes import notes_on
from sim.recording import Recording
from sim.replay import Replay, Setting
from sim.replay import replay as run_replay
from sim.scenario import Scenario
from sim.script import Script, write_script

BASELINES = ("ar", "toolspec")


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
    """Runs scenarios over one recording. What scenarios have in common (scripts, baselines) is worked out once."""

    def __init__(
        self, recording: Recording, interference: Interference | None = None, costs: Costs | None = None
    ) -> None:
        """``interference``: what two models on one device do to each other, as measured; ``costs``: of a subset."""
        self.recording = recording
        self.interference = interference
        self._costs = costs or Costs(recording)
        self._methods: dict[str, Method] = {}
        self._scripts: dict[tuple[str, int | None], tuple[Script, ...]] = {}
        self._jitter: Jitter | None = None
        self._baselines: dict[Scenario, Replay] = {}

    def run(self, scenario: Scenario) -> Result:
        """Raises OospecError for a method that the recording cannot replay."""
        done = self.replay(scenario)
        figures = measure(done) | {"devices": self._devices(scenario)}
        for name in BASELINES:
            if (baseline := self._baseline(scenario, name)) is not None:
                figures |= speedups(done, baseline, name)
        wave = self.method(scenario.method).wave
        notes = notes_on(scenario, done, self._costs, self.interference, wave=wave)
        return Result(scenario, figures, tuple(notes), done)

    def method(self, name: str) -> Method:
        if name not in self._methods:
            self._methods[name] = find_method(self.recording, name)
        return self._methods[name]

    def scripts(self, method: str, jitter: int | None = None) -> tuple[Script, ...]:
        """Of all requests, in the recording's order. ``jitter`` is a seed; None: medians."""
        key = (method, jitter)
        if key not in self._scripts:
            if jitter is not None and (self._jitter is None or self._jitter.seed != jitter):
                self._jitter = Jitter(jitter)
                # A study over many seeds would keep them all.
                self._scripts = {known: scripts for known, scripts in self._scripts.items() if known[1] is None}
            found, noise = self.method(method), None if jitter is None else self._jitter
            self._scripts[key] = tuple(write_script(found, r, self._costs, noise) for r in found.requests)
        return self._scripts[key]

    def replay(self, scenario: Scenario) -> Replay:
        """The timeline of a scenario; of methods without a wave it is worked out once."""
        if self.method(scenario.method).wave:
            return self._replay(scenario)
        alone = scenario.alone
        if alone not in self._baselines:
            self._baselines = dict(list(self._baselines.items())[-15:])
            self._baselines[alone] = self._replay(alone)
        return self._baselines[alone]

    def _replay(self, scenario: Scenario) -> Replay:
        scripts = self.scripts(scenario.method, scenario.seed if scenario.jitter else None)
        measured = self.interference.slowdown if self.interference is not None else None
        setting = Setting(
            layout=scenario.placement.layout(measured),
            link=scenario.link,
            targets=scenario.targets,
            sidecars=scenario.sidecars,
            scale_sidecar=scenario.scale_sidecar,
        )
        return run_replay(scripts, setting, scenario.load.arrivals(scripts, scenario.seed))

    def _baseline(self, scenario: Scenario, name: str) -> Replay | None:
        try:
            if self.method(name).requests != self.method(scenario.method).requests:
                return None
        except OospecError:  # a trace without profiles has no ToolSpec
            return None
        return self.replay(replace(scenario, method=name))

    def _devices(self, scenario: Scenario) -> int:
        layout = scenario.placement.layout()
        sidecars = scenario.sidecars * layout.sidecar_devices if self.method(scenario.method).wave else 0
        return scenario.targets * layout.target_devices + sidecars
