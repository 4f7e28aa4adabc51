"""What forwards, host work and the link cost, from the samples of a trace. No clock and no event loop is in here.

A request's own recorded prefill and sidecar forwards are taken as they are; everything else is interpolated between
the samples of all requests. ``only`` limits the samples to some requests; those left out can be predicted (fidelity).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from statistics import median

import numpy as np

from oospec_async.errors import OospecError
from oospec_async.trace import RequestTrace, WaveStep
from sim.costs.forward_times import Floats, ForwardTimes, fit
from sim.costs.recording import Recording

COMMIT_SHARE = 0.15
"""Share of the host time between two forwards of the target that lies before the poll.

Handing the logits back and committing come before the poll; drafting and handing the tree over come after it. A trace
records the sum only; docs/oospec-sim.md says how this share was measured.
"""


@dataclass(frozen=True)
class Host:
    """Seconds between forwards of the target: after the prefill, where the drafters are set up, and later on."""

    first: Floats
    later: Floats


@dataclass(frozen=True)
class Costs:
    """Raises OospecError, naming file and field, where the trace has no samples of what is asked for."""

    recording: Recording
    only: Collection[str] | None = None  # requests whose samples are used; None: all
    _hosts: dict[str, Host] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def target_prefill(self) -> ForwardTimes:
        return self._fit("target_prefill")

    @cached_property
    def target_verify(self) -> ForwardTimes:
        return self._fit("target_verify")

    @cached_property
    def sidecar_prefill(self) -> ForwardTimes:
        return self._fit("sidecar_prefill")

    @cached_property
    def sidecar_step(self) -> ForwardTimes:
        return self._fit("sidecar_step")

    def prefill(self, request: str, tokens: int) -> float:
        """Seconds of the target's prefill: the request's own samples' median, else interpolated."""
        own = self._own_prefills.get(request)
        return median(own) if own else float(self.target_prefill.seconds(tokens))

    def sidecar_forward(self, request: str, step: WaveStep) -> float:
        """Seconds of a recorded forward of the sidecar; of a request that is left out: interpolated."""
        if self._uses(request):
            return step.seconds
        times = self.sidecar_prefill if step.kind == "prefill" else self.sidecar_step
        return float(times.seconds(step.tokens, 0 if step.kind == "prefill" else step.context))

    def host(self, method: str) -> Host:
        """Between forwards of a method: as it was recorded, else as all methods were; 0 where nothing was recorded."""
        if method not in self._hosts:
            self._hosts[method] = self._host(self.recording.runs.get(method, {}).values()) or self._host_of_all
        return self._hosts[method]

    @cached_property
    def links(self) -> Floats:
        """Recorded seconds of single messages, whatever their size (hints are small); empty if none were recorded."""
        return np.array([sample.seconds for sample in self.recording.trace.timing.link])

    @cached_property
    def _own_prefills(self) -> dict[str, list[float]]:
        own = defaultdict(list)
        for sample in self.recording.trace.timing.target_prefill:
            if self._uses(sample.request):
                own[sample.request].append(sample.seconds)
        return own

    @cached_property
    def _host_of_all(self) -> Host:
        seconds = np.array([s.seconds for s in self.recording.trace.timing.host if self._uses(s.request)])
        seconds = seconds if len(seconds) else np.zeros(1)
        return Host(seconds, seconds)

    def _host(self, runs: Iterable[RequestTrace]) -> Host | None:
        """The gaps between recorded rounds."""
        first: list[float] = []
        later: list[float] = []
        for run in runs:
            if not self._uses(run.request) or not run.rounds:
                continue
            if own := self._own_prefills.get(run.request):
                first.append(max(run.rounds[0].start - median(own), 0.0))
            later += [max(after.start - before.start - before.seconds, 0.0) for before, after in pairwise(run.rounds)]
        if not first and not later:
            return None
        return Host(np.array(first or later), np.array(later or first))

    def _uses(self, request: str) -> bool:
        return self.only is None or request in self.only

    def _fit(self, name: str) -> ForwardTimes:
        samples = [sample for sample in getattr(self.recording.trace.timing, name) if self._uses(sample.request)]
        if not samples:
            raise OospecError(f"{self.recording.source}: timing.{name}: empty; without samples nothing can be timed")
        contexts = [getattr(sample, "context", 0) for sample in samples]  # before a prefill there is nothing
        return fit([sample.tokens for sample in samples], contexts, [sample.seconds for sample in samples])
