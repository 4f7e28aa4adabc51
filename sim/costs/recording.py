"""A trace as the simulator looks at it: requests in their order, and their runs by method."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from oospec_async.errors import OospecError
from oospec_async.trace import RequestTrace, Trace, read_trace

PREFERRED = "oospec"  # whose profiles stand behind every method, where several runs took hints


@dataclass(frozen=True)
class Recording:
    """``source`` is what errors call the trace: its file."""

    trace: Trace
    source: str = "trace"
    runs: Mapping[str, Mapping[str, RequestTrace]] = field(init=False)  # method -> request -> run

    def __post_init__(self) -> None:
        runs: dict[str, dict[str, RequestTrace]] = {}
        for run in self.trace.requests:
            runs.setdefault(run.method, {})[run.request] = run
        object.__setattr__(self, "runs", runs)

    @cached_property
    def requests(self) -> tuple[str, ...]:
        """Ids, in the order of their first run."""
        return tuple(dict.fromkeys(run.request for run in self.trace.requests))

    @cached_property
    def hinted(self) -> str:
        """The recorded method whose profiles know hints. Raises OospecError if there is none."""
        found = [method for method, runs in self.runs.items() if any(run.profiles for run in runs.values())]
        with_hints = [m for m in found if any(len(run.profiles) > 1 for run in self.runs[m].values())]
        best = next((m for m in (PREFERRED, *with_hints, *found) if m in found), None)
        if best is None:
            raise OospecError(f"{self.source}: requests: none has profiles; only ar can be replayed (--method ar)")
        return best

    def run(self, request: str, method: str) -> RequestTrace:
        """One request's run by a recorded method. Raises OospecError if it is not in the trace."""
        try:
            return self.runs[method][request]
        except KeyError:
            raise OospecError(f"{self.source}: requests: {request!r} was not recorded by {method!r}") from None

    def arrival(self, request: str) -> float:
        """Seconds, one for all methods: that of the hinted run, else the earliest of the request's runs."""
        runs = [(method, runs[request]) for method, runs in self.runs.items() if request in runs]
        hinted = self.hinted if self.has_profiles else None
        return min(run.arrival for method, run in runs if method == hinted or hinted not in dict(runs))

    @cached_property
    def has_profiles(self) -> bool:
        return any(run.profiles for run in self.trace.requests)

    def any_run(self, request: str) -> RequestTrace:
        """One of the request's runs: the first of ar, the hinted method and the others that has one.

        Prompts are the same in all of them; outputs may differ where arithmetic is not exact (bfloat16).
        """
        first = ("ar", self.hinted) if self.has_profiles else ("ar",)
        return next(runs[request] for m in (*first, *self.runs) if request in (runs := self.runs.get(m, {})))


def open_recording(path: Path) -> Recording:
    """Raises OospecError, one line that names file and field, if the trace cannot be read or is damaged."""
    return Recording(read_trace(path), str(path))
