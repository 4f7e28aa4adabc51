"""Make a trace from the events of a run."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from itertools import pairwise

from pydantic import ValidationError

from oospec_async.completion import Completion
from oospec_async.decoding.drafters import needs_of
from oospec_async.decoding.drafters.needs import CHAINS
from oospec_async.errors import OospecError
from oospec_async.events import Event
from oospec_async.recording.link import link_samples
from oospec_async.recording.profile import profiles
from oospec_async.recording.provenance import Setup, software
from oospec_async.recording.recorder import Recorder, RequestLog
from oospec_async.request import Json, Request
from oospec_async.trace import (
    HostSample,
    Origin,
    PrefillSample,
    Profile,
    Provenance,
    Publish,
    RequestTrace,
    Round,
    StepSample,
    Timing,
    Trace,
    VerifySample,
    Wave,
    WaveStep,
)

_HOW = {
    "outputs": "greedy decoding of the target by the named method",
    "profiles": "the method's drafters at every position of these outputs, after each request, with the history as it "
    "stood at its start and the successors that its rounds had seen",
    "hints": "as the sidecar published them, in waves that were not cut short where a decode ended",
    "target timing": "every prefill and verification, from the call on the target's device to its tokens",
    "sidecar timing": "every forward of every wave, in the sidecar's process, its publishing included",
    "host timing": "from the end of each forward of the target to the beginning of the next; link: every published "
    "hint written to a channel in one process and read from it, after the run",
    "rounds": "as they were observed",
}


def make_trace(
    setup: Setup,
    recorder: Recorder,
    requests: Sequence[Request],
    completions: Sequence[Completion],
    done: Callable[[], object] = lambda: None,
) -> Trace:
    """A trace of completed requests; events of others are left out. ``done`` is called after each.

    Profiles are made here: the drafters are run at every position of every output, once per version of the hint.
    Raises OospecError where a prompt was not read whole: a trace says what a request costs by itself; and as
    ``check_recordable`` does.
    """
    for completion in completions:
        check_recordable(completion.method)
    reused = next((c for c in completions if c.metrics.reused_tokens), None)
    if reused is not None:
        raise OospecError(
            f"request {reused.request!r} reused {reused.metrics.reused_tokens} tokens of the prompt before; "
            f"record with an engine opened with reuse_prefix=False"
        )
    runs: dict[tuple[str, str], list[Event]] = {(c.request, c.method): [] for c in completions}
    for event in recorder.events:
        if (event.request, event.method) in runs and _sound(event):
            runs[event.request, event.method].append(event)
    served = {(each.request, each.method): each for each in recorder.served}
    tools = {request.id: request.tools for request in requests}
    start = min((each.arrival_ns for each in served.values()), default=0)
    timing = Timing(target_prefill=[], target_verify=[], sidecar_prefill=[], sidecar_step=[], host=[])
    traces = []
    for completion in completions:
        run = sorted(runs[completion.request, completion.method], key=lambda event: event.start_ns)
        one, offered = served[completion.request, completion.method], tools[completion.request]
        timing.link.extend(link_samples(one.hints, offered))
        publishes = _publishes(run, {hint.version for hint in one.hints})
        traces.append(
            RequestTrace(
                request=completion.request,
                method=completion.method,
                prompt_tokens=completion.metrics.prompt_tokens,
                output_tokens=completion.metrics.output_tokens,
                functions=len(offered),
                slots=sum(len(tool.slots) for tool in offered),
                payload_bytes=publishes[-1].bytes if publishes else 0,
                arrival=(one.arrival_ns - start) / 1e9,
                before=(_zero(run) - one.start_ns) / 1e9,
                publishes=publishes,
                wave=_wave(run, {publish.version for publish in publishes}),
                rounds=_rounds(run),
                profiles=_profiles(one, publishes),
            )
        )
        _add_samples(timing, run, traces[-1])
        done()
    return Trace(provenance=_provenance(setup), timing=timing, requests=traces)


def check_recordable(method: str) -> None:
    """Raises OospecError for a method of which a trace cannot tell what it costs, or would draft elsewhere."""
    if CHAINS in needs_of(method):
        raise OospecError(
            f"method {method!r} cannot be recorded: a trace has no place for the times of a draft model; leave it out"
        )


def _named(event: Event) -> dict[str, Json]:
    """An event's counts and times, by the names of the format's fields."""
    return {**event.data, "request": event.request, "seconds": event.seconds}


def _step(event: Event) -> WaveStep:
    branches = event.data.get("branches") if event.name == "step" else 0
    return WaveStep.of(**{**_named(event), "kind": event.name, "branches": branches})


def _sound(event: Event) -> bool:
    """Whether an event can be counted. A sidecar may report anything; what the engine has seen itself is sound."""
    try:
        if event.track == "sidecar":
            _step(event)
            (StepSample if event.name == "step" else PrefillSample).of(**_named(event))
        elif event.name == "publish":
            Publish.of(**_named(event))
    except ValidationError:
        return False
    return True


def _provenance(setup: Setup) -> Provenance:
    return Provenance(
        parts={part: Origin(kind="recorded", how=f"oospec-run --record: {how}") for part, how in _HOW.items()},
        target=setup.target,
        sidecar=setup.sidecar,
        software=software(),
        date=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        curve=list(setup.curve.samples),
    )


def _profiles(served: RequestLog, publishes: Sequence[Publish]) -> list[Profile]:
    assert served.decode is not None  # a recorder's ``served`` have one
    told = {publish.version for publish in publishes}
    return profiles(served.decode, [hint for hint in served.hints if hint.version in told])


def _add_samples(timing: Timing, run: Sequence[Event], request: RequestTrace) -> None:
    forwards = [event for event in run if event.track == "target"]
    timing.target_prefill.extend(PrefillSample.of(**_named(event)) for event in forwards if event.name == "prefill")
    for each in request.rounds:
        context = request.prompt_tokens + each.position - 1  # the root is in the tree, not before it
        timing.target_verify.append(VerifySample.of(request=request.request, context=context, **dict(each)))
    if request.wave is not None:
        timing.add_wave(request.request, request.wave)
    for before, after in pairwise(forwards):
        gap = (after.start_ns - before.end_ns) / 1e9
        timing.host.append(HostSample(request=request.request, seconds=gap))


def _zero(run: Sequence[Event]) -> int:
    return next(event.start_ns for event in run if (event.track, event.name) == ("target", "prefill"))


def _since(run: Sequence[Event], time_ns: int) -> float:
    """Seconds since the start of the prefill; what was before counts as then, since no round could tell."""
    return max(0.0, (time_ns - _zero(run)) / 1e9)


def _publishes(run: Sequence[Event], known: set[int]) -> list[Publish]:
    """Hints as they were published; of a sidecar that failed before its report, those that were found by polls.

    Of a version that is not ``known`` nobody can say what it would have drafted; a report leaves out what is too long.
    """
    publishes = {}
    for event in run:
        if event.name in ("publish", "poll") and event.data["version"] in known:
            seconds = _since(run, event.data.get("published_ns", event.start_ns))
            publishes[event.data["version"]] = Publish.of(**{**_named(event), "seconds": seconds})
    return [publishes[version] for version in sorted(publishes)]


def _wave(run: Sequence[Event], told: set[int]) -> Wave | None:
    """The forwards of the sidecar; None where it did not report them."""
    steps: list[WaveStep] = []
    start = None
    for event in run:
        if event.track == "sidecar":
            start = event.start_ns if start is None else start
            steps.append(_step(event))
        elif event.name == "publish" and steps and event.data["version"] in told:
            steps[-1] = steps[-1].model_copy(update={"publishes": event.data["version"]})
    return None if start is None else Wave(start=(start - _zero(run)) / 1e9, steps=steps)


def _rounds(run: Sequence[Event]) -> list[Round]:
    version, rounds = 0, []
    for event in run:
        if event.name == "poll":
            version = event.data["version"]
        elif event.name == "verify":
            start = (event.start_ns - _zero(run)) / 1e9
            rounds.append(Round.of(**_named(event), start=start, hint_version=version))
    return rounds
