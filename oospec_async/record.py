"""Make a trace from the events of a run."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from itertools import pairwise

from oospec_async.completion import Completion
from oospec_async.provenance import Setup, software
from oospec_async.request import Request
from oospec_async.runtime.recorder import Event
from oospec_async.trace import (
    HostSample,
    Origin,
    PrefillSample,
    Provenance,
    Publish,
    RequestTrace,
    Round,
    StepSample,
    Timing,
    Trace,
    VerifySample,
)


def make_trace(
    setup: Setup, events: Sequence[Event], requests: Sequence[Request], completions: Sequence[Completion]
) -> Trace:
    """A trace of completed requests; events of others are left out."""
    runs: dict[tuple[str, str], list[Event]] = {(c.request, c.method): [] for c in completions}
    for event in events:
        if (event.request, event.method) in runs:
            runs[event.request, event.method].append(event)
    tools = {request.id: request.tools for request in requests}
    timing = Timing(target_prefill=[], target_verify=[], sidecar_prefill=[], sidecar_step=[], host=[])
    traces = []
    for completion in completions:
        run = sorted(runs[completion.request, completion.method], key=lambda event: event.start_ns)
        prompt = completion.metrics.prompt_tokens
        _add_samples(timing, run, prompt)
        offered = tools[completion.request]
        traces.append(
            RequestTrace(
                request=completion.request,
                method=completion.method,
                prompt_tokens=prompt,
                output_tokens=completion.metrics.output_tokens,
                functions=len(offered),
                slots=sum(len(tool.slots) for tool in offered),
                payload_bytes=completion.metrics.hint.payload_bytes,
                publishes=_publishes(run),
                rounds=_rounds(run),
            )
        )
    provenance = Provenance(
        parts={
            part: Origin(kind="recorded", how="oospec-run --record")
            for part in ("rounds", "target timing", "sidecar timing", "host timing")
        },
        target=setup.target,
        sidecar=setup.sidecar,
        software=software(),
        date=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        curve=list(setup.curve.samples),
    )
    return Trace(provenance=provenance, timing=timing, requests=traces)


def _add_samples(timing: Timing, run: Sequence[Event], prompt: int) -> None:
    for event in run:
        data, seconds = event.data, event.seconds
        if (event.track, event.name) == ("target", "prefill"):
            timing.target_prefill.append(PrefillSample(request=event.request, tokens=data["tokens"], seconds=seconds))
        elif (event.track, event.name) == ("target", "verify"):
            context = prompt + data["position"] - 1  # the root is in the tree, not before it
            sample = VerifySample(request=event.request, tokens=data["tokens"], context=context, seconds=seconds)
            timing.target_verify.append(sample)
        elif (event.track, event.name) == ("sidecar", "prefill"):
            timing.sidecar_prefill.append(PrefillSample(request=event.request, tokens=data["tokens"], seconds=seconds))
        elif (event.track, event.name) == ("sidecar", "step"):
            timing.sidecar_step.append(StepSample(request=event.request, branches=data["branches"], seconds=seconds))
    for before, after in pairwise(event for event in run if event.track == "target"):
        gap = (after.start_ns - before.end_ns) / 1e9
        timing.host.append(HostSample(request=after.request, seconds=gap))


def _zero(run: Sequence[Event]) -> int:
    return next(event.start_ns for event in run if (event.track, event.name) == ("target", "prefill"))


def _publishes(run: Sequence[Event]) -> list[Publish]:
    """Hints as they were published; of a sidecar that failed before its report, those that were found by polls."""
    zero, publishes = _zero(run), {}
    for event in run:
        if event.name in ("publish", "poll"):
            data = event.data
            publishes[data["version"]] = Publish(
                seconds=(data.get("published_ns", event.start_ns) - zero) / 1e9,
                version=data["version"],
                ready=data["ready"],
                bytes=data["bytes"],
            )
    return [publishes[version] for version in sorted(publishes)]


def _rounds(run: Sequence[Event]) -> list[Round]:
    zero, version, rounds = _zero(run), 0, []
    for event in run:
        if event.name == "poll":
            version = event.data["version"]
        elif event.name == "verify":
            data: Mapping[str, int] = event.data
            rounds.append(
                Round(
                    start=(event.start_ns - zero) / 1e9,
                    seconds=event.seconds,
                    position=data["position"],
                    tokens=data["tokens"],
                    accepted=data["accepted"],
                    committed=data["committed"],
                    hint_version=version,
                )
            )
    return rounds
