"""Made-up traces for the simulator: small, seeded, whole, and of a shape that real ones have."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from oospec_async.trace import (
    PARTS,
    HostSample,
    LinkSample,
    ModelInfo,
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
from sim.costs.nanoseconds import NS
from sim.costs.recording import Recording
from sim.figures.simulator import Simulator
from sim.replay.replay import Served
from sim.scenario.placement import Shared, Split
from sim.scenario.scenario import Scenario

TARGET = ModelInfo(name="made-up", source="tests", weights_sha256="0" * 64, dtype="float32", device="cpu:0")
SIDECAR = TARGET.model_copy(update={"name": "made-up small", "device": "cpu:1"})


@dataclass(frozen=True)
class Made:
    """What a made-up device takes: seconds of a forward by tokens and rows, and of the host between forwards."""

    verify_base: float = 0.020
    verify_token: float = 0.0002
    verify_row: float = 1e-6
    prefill_token: float = 0.0001
    step: float = 0.004
    host: float = 0.0005
    link: float = 0.00005
    before: float = 0.001

    def verify(self, tokens: int, context: int) -> float:
        return self.verify_base + self.verify_token * tokens + self.verify_row * context


PLAIN = Made()


def request(
    name: str = "r0",
    output: int = 20,
    prompt: int = 100,
    *,
    without: Sequence[tuple[int, int]] | None = None,
    hinted: Sequence[Sequence[tuple[int, int]]] = (),
    publish_at: Sequence[int] = (),
    steps: int = 6,
    start: float = 0.0,
    made: Made = PLAIN,
    method: str = "oospec",
) -> RequestTrace:
    """A run without observed rounds. Profiles are (drafted, accepted) by position; hint v is published by step v."""
    profiles = [_profile(0, without or [(0, 0)] * (output - 1))]
    profiles += [_profile(version, pairs) for version, pairs in enumerate(hinted, start=1)]
    at = publish_at or range(1, len(hinted) + 1)
    published = {step: version for version, step in enumerate(at, start=1)}
    forwards = [
        WaveStep(
            kind="step" if index else "prefill",
            tokens=4 if index else prompt,
            branches=4 if index else 0,
            context=prompt + 4 * (index - 1) if index else 0,
            seconds=made.step,
            publishes=published.get(index),
        )
        for index in range(steps)
    ]
    return RequestTrace(
        request=name,
        method=method,
        prompt_tokens=prompt,
        output_tokens=output,
        functions=1,
        slots=2,
        payload_bytes=85,
        before=made.before,
        publishes=[
            Publish(
                seconds=max(start + made.step * (step + 1), 0.0), version=version, ready=version, bytes=40 * version
            )
            for step, version in published.items()
        ],
        wave=Wave(start=start, steps=forwards) if steps else None,
        rounds=[],
        profiles=profiles,
    )


def random_requests(count: int, seed: int = 0, made: Made = PLAIN, versions: int = 3) -> list[RequestTrace]:
    """Requests whose hints are mostly right and help more with every version."""
    rng = random.Random(seed)
    made_up = []
    for number in range(count):
        output = rng.randint(12, 70)
        base = [_pair(rng, 3, output - 2 - i, 0.5) for i in range(output - 1)]
        hinted = [[_pair(rng, 4 + 4 * v, output - 2 - i, 0.8) for i in range(output - 1)] for v in range(versions)]
        steps = rng.randint(versions + 1, 14)
        made_up.append(
            request(
                f"r{number}",
                output,
                rng.randint(80, 900),
                without=base,
                hinted=hinted,
                publish_at=sorted(rng.sample(range(1, steps), versions)),
                steps=steps,
                start=rng.uniform(0.0, 0.002),
                made=made,
            )
        )
    return made_up


def trace(requests: Sequence[RequestTrace], made: Made = PLAIN, *, noise: float = 0.0, seed: int = 1) -> Trace:
    """A trace of requests, with samples of the made-up device."""
    rng = random.Random(seed)

    def seconds(value: float) -> float:
        return value * (1 + noise * rng.random())

    first, last = requests[0].request, requests[-1].request
    longest = max(r.prompt_tokens + r.output_tokens for r in requests)
    shortest = min(r.prompt_tokens for r in requests)
    timing = Timing(
        target_prefill=[],
        target_verify=[
            VerifySample(request=name, tokens=n, context=c, seconds=seconds(made.verify(n, c)))
            for n in (1, 2, 4, 8, 16, 32, 64)
            for c in range(shortest, longest, max((longest - shortest) // 6, 1))
            for name in (first, last)
        ],
        sidecar_prefill=[],
        sidecar_step=[],
        host=[],
        link=[LinkSample(bytes=85, seconds=made.link)],
    )
    for run in requests:
        name, prompt = run.request, run.prompt_tokens
        spent = seconds(made.prefill_token * prompt)
        timing.target_prefill.append(PrefillSample(request=name, tokens=prompt, seconds=spent))
        timing.sidecar_prefill.append(PrefillSample(request=name, tokens=prompt, seconds=made.step))
        timing.host.append(HostSample(request=name, seconds=made.host))
        for step in run.wave.steps[1:] if run.wave is not None else ():
            sizes = {"branches": step.branches, "tokens": step.tokens, "context": step.context}
            timing.sidecar_step.append(StepSample(request=name, seconds=seconds(step.seconds), **sizes))
    return Trace(
        provenance=Provenance(
            parts={part: Origin(kind="modelled", how="made up for tests") for part in PARTS},
            target=TARGET,
            sidecar=SIDECAR,
            software={},
            date="2026-01-01T00:00:00+00:00",
            curve=[(1, 0.02), (64, 0.03)],
        ),
        timing=timing,
        requests=list(requests),
    )


def _profile(version: int, pairs: Sequence[tuple[int, int]]) -> Profile:
    return Profile(version=version, drafted=[d for d, _ in pairs], accepted=[a for _, a in pairs])


def _pair(rng: random.Random, most: int, room: int, hit: float) -> tuple[int, int]:
    drafted = rng.randint(0, most)
    accepted = min(drafted, max(room, 0)) if rng.random() < hit else 0
    return drafted, accepted


def simulator_of(
    requests: Sequence[RequestTrace], made: Made = PLAIN, *, noise: float = 0.0, seed: int = 1
) -> Simulator:
    """Over such a trace."""
    return Simulator(Recording(trace(requests, made, noise=noise, seed=seed)))


def retimed(made: Trace, **samples: object) -> Trace:
    """The trace with other samples of some parts of its timing."""
    return made.model_copy(update={"timing": made.timing.model_copy(update=samples)})


def observed(recording: Trace, seed: int = 0, *, device: str | None = None) -> Trace:
    """The trace with rounds, waves and samples as a jittered replay of it had them: as if it had been recorded."""
    scenario = Scenario(jitter=bool(seed), seed=seed, placement=Shared() if device else Split())
    served = Simulator(Recording(recording)).replay(scenario).served
    prefills, verifies = [], []
    for each in served:
        request, prompt, spent = each.timetable.request, each.timetable.prompt, each.prefill[1] - each.prefill[0]
        prefills.append(PrefillSample(request=request, tokens=prompt, seconds=spent / NS))
        for r in each.rounds:
            rows, spent = prompt + r.position - 1, r.end - r.start
            verifies.append(VerifySample(request=request, tokens=r.tokens, context=rows, seconds=spent / NS))
    runs = [observed_run(run, each) for run, each in zip(recording.requests, served, strict=True)]
    made = recording.provenance
    if device:
        on = made.target.model_copy(update={"device": device})
        made = made.model_copy(update={"target": on, "sidecar": on})
    seen = retimed(recording, target_prefill=prefills, target_verify=verifies)
    return seen.model_copy(update={"requests": runs, "provenance": made})


def observed_run(run: RequestTrace, served: Served) -> RequestTrace:
    zero = served.prefill[0]
    rounds = [
        Round(
            start=(r.start - zero) / NS, seconds=(r.end - r.start) / NS, position=r.position, tokens=r.tokens,
            accepted=r.accepted, committed=r.committed, hint_version=r.version,
        )
        for r in served.rounds
    ]  # fmt: skip
    if served.wave is None or run.wave is None:
        return run.model_copy(update={"rounds": rounds})
    log, now = served.wave, served.wave.launched
    steps, publishes = [], {p.version: p for p in run.publishes}
    for index, step in enumerate(run.wave.steps):
        # What a recorder sees: forwards follow each other, and the wave is let end.
        end = log.spans[index][1] if index < len(log.spans) else now + log.ns[index]
        steps.append(step.model_copy(update={"seconds": (end - now) / NS}))
        now = end
        if step.publishes:
            at = {"seconds": (now - zero) / NS}
            publishes[step.publishes] = publishes[step.publishes].model_copy(update=at)
    wave = run.wave.model_copy(update={"start": (log.launched - zero) / NS, "steps": steps})
    return run.model_copy(update={"rounds": rounds, "wave": wave, "publishes": list(publishes.values())})
