"""What the fields of a trace have to do with each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from oospec_async.trace.format import Profile, RequestTrace, Round, Trace

_TICK = 1e-6  # seconds by which sums of rounded times may miss each other


def inconsistencies(trace: Trace) -> Iterator[str]:
    """What does not fit together, a line each that begins with the field."""
    seen: set[tuple[str, str]] = set()
    for index, request in enumerate(trace.requests):
        if (request.request, request.method) in seen:
            yield f"requests.{index}: {request.request!r} by {request.method!r} is there twice"
        seen.add((request.request, request.method))
        for problem in _in_request(request):
            yield f"requests.{index}.{problem} (request {request.request!r}, {request.method})"
    yield from _in_timing(trace)


def _in_timing(trace: Trace) -> Iterator[str]:
    known = {None, *(request.request for request in trace.requests)}  # None: of a sample that is of no request
    for name, samples in trace.timing:
        for index, sample in enumerate(samples):
            if getattr(sample, "request", None) not in known:
                yield f"timing.{name}.{index}.request: {sample.request!r} is no request of this trace"


def _in_request(request: RequestTrace) -> Iterator[str]:
    versions = [publish.version for publish in request.publishes]
    for index, (before, after) in enumerate(pairwise(request.publishes), start=1):
        if after.version <= before.version:
            yield f"publishes.{index}.version: {after.version} after {before.version}; versions must ascend"
        if after.seconds < before.seconds:
            yield f"publishes.{index}.seconds: {after.seconds} after {before.seconds}; time runs backwards"
    yield from _in_wave(request)
    yield from _in_profiles(request, versions)
    yield from _in_rounds(request)


def _in_wave(request: RequestTrace) -> Iterator[str]:
    if request.wave is None:
        return
    steps, now = request.wave.steps, request.wave.start
    left = {publish.version: publish.seconds for publish in request.publishes}
    for index, step in enumerate(steps):
        now += step.seconds
        if (step.kind == "prefill") is not (index == 0):
            yield f"wave.steps.{index}.kind: {step.kind!r}; the first forward is the prefill, all others are steps"
        if (step.branches == 0) is not (step.kind == "prefill"):
            yield f"wave.steps.{index}.branches: {step.branches} in a {step.kind}; a prefill has none, a step some"
        if step.publishes is None:
            continue
        if step.publishes not in left:
            yield f"wave.steps.{index}.publishes: version {step.publishes} is not, or not any more, in publishes"
        elif abs((published := left.pop(step.publishes)) - max(now, 0.0)) > _TICK * (index + 1):
            yield f"wave.steps.{index}.publishes: version {step.publishes} is published at {published}, not at {now}"
    if left:
        yield f"wave.steps: none publishes version {next(iter(left))}"


def _in_profiles(request: RequestTrace, versions: Sequence[int]) -> Iterator[str]:
    if not request.profiles:
        return
    profiled = [profile.version for profile in request.profiles]
    if profiled != [0, *versions]:
        yield f"profiles: of versions {profiled}; 0 (no hint) and the published ones are expected: {[0, *versions]}"
    for index, profile in enumerate(request.profiles):
        for problem in _in_profile(profile, request.output_tokens):
            yield f"profiles.{index}.{problem}"


def _in_profile(profile: Profile, output_tokens: int) -> Iterator[str]:
    for name, values in (("drafted", profile.drafted), ("accepted", profile.accepted)):
        if len(values) != output_tokens - 1:
            yield f"{name}: {len(values)} entries; an output of {output_tokens} tokens has {output_tokens - 1}"
    for index, (drafted, accepted) in enumerate(zip(profile.drafted, profile.accepted, strict=False)):
        if accepted > drafted:
            yield f"accepted.{index}: {accepted} of {drafted} drafted tokens"
        if accepted > output_tokens - 2 - index:
            yield f"accepted.{index}: {accepted} accepted and one more go beyond the output's {output_tokens} tokens"


def _in_rounds(request: RequestTrace) -> Iterator[str]:
    """Rounds may be missing as a whole: a modelled trace has observed none."""
    published = {publish.version: publish.seconds for publish in request.publishes}
    profiles = {profile.version: profile for profile in request.profiles}
    position, now, version = 1, 0.0, 0
    for index, round_ in enumerate(request.rounds):
        if round_.position != position:
            yield f"rounds.{index}.position: {round_.position}; {position} tokens are committed by then"
        if round_.committed != round_.accepted + 1:
            yield f"rounds.{index}.committed: {round_.committed}; {round_.accepted} accepted and the target's own are"
        if round_.accepted > round_.tokens - 1:
            yield f"rounds.{index}.accepted: {round_.accepted} of {round_.tokens - 1} drafted tokens"
        if round_.start < now - _TICK:
            yield f"rounds.{index}.start: {round_.start}; the round before ends at {now}"
        if round_.hint_version < version:
            yield f"rounds.{index}.hint_version: {round_.hint_version} after {version}; versions must ascend"
        if round_.hint_version and round_.hint_version not in published:
            yield f"rounds.{index}.hint_version: {round_.hint_version} is not in publishes"
        elif round_.hint_version and published[round_.hint_version] > round_.start + _TICK:
            yield f"rounds.{index}.hint_version: {round_.hint_version} is published only after the round's start"
        if round_.hint_version in profiles:
            yield from (f"rounds.{index}.{p}" for p in _against_profile(round_, profiles[round_.hint_version]))
        position += round_.committed
        now, version = round_.start + round_.seconds, max(version, round_.hint_version)
    if request.rounds and position != request.output_tokens:
        yield f"rounds: commit {position} tokens with the prefill's; the output has {request.output_tokens}"


def _against_profile(round_: Round, profile: Profile) -> Iterator[str]:
    index = round_.position - 1
    if index >= min(len(profile.drafted), len(profile.accepted)):
        return
    drafted, accepted = profile.drafted[index], profile.accepted[index]
    if (drafted, accepted) != (round_.tokens - 1, round_.accepted):
        yield (
            f"tokens: {round_.tokens - 1} drafted and {round_.accepted} accepted; the profile of version "
            f"{profile.version} says {drafted} and {accepted}"
        )
