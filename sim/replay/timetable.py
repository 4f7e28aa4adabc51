"""Everything about one request by one method that is known before the clock starts: a table that engines replay.

All times are whole nanoseconds. Index i of a list stands for i + 1 committed output tokens, as in a profile. The order
of events is part of the meaning (``Rank``), so that two engines that replay a timetable give one timeline.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from oospec_async.trace import Profile, RequestTrace
from sim.costs.costs import COMMIT_SHARE, Costs, Host
from sim.costs.jitter import Jitter, Noise, pick
from sim.costs.nanoseconds import NS, forward_ns, whole_ns
from sim.replay.fastest_drafts import fastest_drafts
from sim.scenario.methods import Drafts, Method
from sim.scenario.placement import Law


class Rank(IntEnum):
    """What comes first at the same nanosecond. Within a rank: in the order of scheduling."""

    ENDS = 1  # a forward ends; what it gave is published; a wave is launched
    POLL = 2  # the target commits and polls
    TARGET_ASKS = 3  # for its device
    SIDECAR_ASKS = 4


@dataclass(frozen=True)
class Rounds:
    """Under one hint version: what the round at each position verifies, how long that takes, and what it accepts."""

    tokens: Sequence[int]  # in the tree, the root counts
    accepted: Sequence[int]
    verify_ns: Sequence[int]
    beyond: Sequence[bool] | None = None  # where the time is extrapolated; None: nowhere


@dataclass(frozen=True)
class Forward:
    """Of the sidecar."""

    name: str  # prefill or step
    tokens: int
    branches: int
    ns: int
    publishes: int = 0  # the version, 0: none


@dataclass(frozen=True)
class WaveTimetable:
    start_ns: int  # since the start of the target's prefill; may be negative
    forwards: Sequence[Forward]


@dataclass(frozen=True)
class Hint:
    """What a version carries."""

    bytes: int
    ready: int  # slots


@dataclass(frozen=True)
class Timetable:
    """One request by one method.

    From the end of a forward after which i + 1 tokens are committed to the commit: ``commit_ns[i]``; a poll comes at
    the same instant; from there to the next forward: ``draft_ns[i]``.
    """

    request: str
    prompt: int
    output: int
    arrival_ns: int
    before_ns: int  # from taking the request to the start of its prefill
    prefill_ns: int
    prefill_beyond: bool
    commit_ns: Sequence[int]
    draft_ns: Sequence[int]
    version: int  # of the hint at the start
    rounds: Mapping[int, Rounds]
    wave: WaveTimetable | None
    listens: bool
    hints: Mapping[int, Hint]
    link_ns: int  # recorded; a scenario may replace it


def write_timetable(
    method: Method, request: str, costs: Costs, jitter: Jitter | None = None, law: Law | None = None
) -> Timetable:
    """Without ``jitter``: typical times. ``law``: of the target's forwards, where a method's drafts are fitted to time.

    Raises OospecError where the trace lacks profiles or samples.
    """
    drafts = method.drafts(request)
    run = drafts.run
    noise = jitter.of(request, run.output_tokens) if jitter is not None else None
    link = float(np.median(costs.links)) if len(costs.links) else 0.0
    if noise is None:
        prefill = costs.prefill(request, run.prompt_tokens)
    else:
        times = costs.target_prefill
        prefill = float(times.seconds(run.prompt_tokens) * pick(times.ratios, noise.prefill)[0])
        link = float(pick(costs.links, noise.link)[0]) if len(costs.links) else 0.0
    commit, draft = _host(costs.host(method.recorded), run.output_tokens, noise)
    profiles = drafts.profiles
    if method.fitted:
        profiles = {v: _fitted(p, run, costs, noise, (commit, draft), law or Law()) for v, p in profiles.items()}
    own = costs.only is None or request in costs.only
    return Timetable(
        request=request,
        prompt=run.prompt_tokens,
        output=run.output_tokens,
        arrival_ns=whole_ns(costs.recording.arrival(request))[0],
        before_ns=whole_ns(run.before)[0],
        prefill_ns=forward_ns(prefill)[0],
        prefill_beyond=not own and bool(costs.target_prefill.beyond(run.prompt_tokens)),
        commit_ns=commit,
        draft_ns=draft,
        version=drafts.version,
        rounds={version: _rounds(profile, run, costs, noise) for version, profile in profiles.items()},
        wave=_wave(drafts, costs, jitter) if drafts.wave else None,
        listens=drafts.listens,
        hints={publish.version: Hint(publish.bytes, publish.ready) for publish in run.publishes},
        link_ns=whole_ns(link)[0],
    )


def _rounds(profile: Profile, run: RequestTrace, costs: Costs, noise: Noise | None) -> Rounds:
    if not profile.drafted:  # the prefill's token is the whole output
        return Rounds((), (), ())
    tokens = np.array(profile.drafted) + 1
    context = run.prompt_tokens + np.arange(len(tokens))  # the root is in the tree, not before it
    times = costs.target_verify
    seconds = times.seconds(tokens, context)
    if noise is not None:
        seconds = seconds * pick(times.ratios, noise.verify[: len(tokens)])
    beyond = times.beyond(tokens, context)
    return Rounds(
        tokens.tolist(), profile.accepted, forward_ns(seconds), beyond.tolist() if bool(beyond.any()) else None
    )


def _fitted(
    profile: Profile,
    run: RequestTrace,
    costs: Costs,
    noise: Noise | None,
    host: tuple[Sequence[int], Sequence[int]],
    law: Law,
) -> Profile:
    """Drafts of at most the profile's largest size, cut so that the output takes the least time."""
    if not profile.drafted:
        return profile
    tokens = np.arange(1, max(profile.drafted) + 2)
    context = run.prompt_tokens + np.arange(len(profile.drafted))
    times = costs.target_verify
    seconds = times.seconds(tokens[None, :], context[:, None])
    if noise is not None:
        seconds = seconds * pick(times.ratios, noise.verify[: len(context)])[:, None]
    verify = np.maximum(np.rint(np.maximum(np.rint(seconds * NS), 1) * law.factor) + law.extra_ns, 1)
    drafted, accepted = fastest_drafts(verify, *host)
    return Profile(version=profile.version, drafted=drafted, accepted=accepted)


def _host(host: Host, output: int, noise: Noise | None) -> tuple[list[int], list[int]]:
    if noise is None:
        seconds = np.full(output, np.median(host.later))
        seconds[0] = np.median(host.first)
    else:
        seconds = pick(host.later, noise.host)
        seconds[0] = pick(host.first, noise.host[:1])[0]
    commit = whole_ns(seconds * COMMIT_SHARE)
    return commit, [whole - part for whole, part in zip(whole_ns(seconds), commit, strict=True)]


def _wave(drafts: Drafts, costs: Costs, jitter: Jitter | None) -> WaveTimetable | None:
    run = drafts.run
    if run.wave is None:
        return _wave_of_publishes(run)
    seconds = np.array([costs.sidecar_forward(run.request, step) for step in run.wave.steps])
    if jitter is not None and len(seconds):
        draws = jitter.wave(run.request, len(seconds))
        first, steps = run.wave.steps[0], run.wave.steps[1:]
        seconds[0] = float(costs.sidecar_prefill.seconds(first.tokens))
        seconds[0] *= pick(costs.sidecar_prefill.ratios, draws[:1])[0]
        if steps:
            seconds[1:] = costs.sidecar_step.seconds([s.tokens for s in steps], [s.context for s in steps])
            seconds[1:] *= pick(costs.sidecar_step.ratios, draws[1:])
    forwards = [
        Forward(step.kind, step.tokens, step.branches, ns, step.publishes or 0)
        for step, ns in zip(run.wave.steps, forward_ns(seconds), strict=True)
    ]
    return WaveTimetable(whole_ns(run.wave.start)[0], forwards)


def _wave_of_publishes(run: RequestTrace) -> WaveTimetable | None:
    """Where only the hints were recorded (a sidecar that failed before its report): one forward up to each."""
    if not run.publishes:
        return None
    ends = whole_ns([publish.seconds for publish in run.publishes])
    spans = [end - start for start, end in zip([0, *ends], ends, strict=False)]
    return WaveTimetable(
        0, [Forward("step", 1, 1, max(ns, 1), p.version) for ns, p in zip(spans, run.publishes, strict=True)]
    )
