"""The trace format ``oospec-trace/1``: numbers of a run, recorded or modelled, and no texts. All times in seconds.

``docs/traces.md`` explains every field.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

FORMAT = "oospec-trace/1"
PARTS = ("outputs", "profiles", "hints", "target timing", "sidecar timing", "host timing")  # of every provenance

# Far beyond every real run; within them no sum of times or sizes leaves what a simulator can count.
_LONGEST = 1e6  # seconds
_MOST, _MOST_BYTES = 10_000_000, 10**12

Count = Annotated[int, Field(ge=0, le=_MOST)]
Some = Annotated[int, Field(ge=1, le=_MOST)]
Bytes = Annotated[int, Field(ge=0, le=_MOST_BYTES)]
Seconds = Annotated[float, Field(ge=0, le=_LONGEST, allow_inf_nan=False)]
Instant = Annotated[float, Field(ge=-_LONGEST, le=_LONGEST, allow_inf_nan=False)]  # may lie before its zero


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    @classmethod
    def of(cls, **values: object) -> Self:
        """From the values that its fields are named after; others are left out. Raises ValidationError."""
        return cls.model_validate({name: values[name] for name in cls.model_fields if name in values})


class Origin(_Part):
    """Where one part of the trace comes from."""

    kind: Literal["recorded", "modelled"]
    how: str


def _has_every_part(parts: dict[str, Origin]) -> dict[str, Origin]:
    if missing := [part for part in PARTS if part not in parts]:
        raise ValueError(f"{missing[0]!r} is missing; say where it comes from")
    return parts


def _ascends(curve: list[tuple[int, float]]) -> list[tuple[int, float]]:
    sizes = [size for size, _ in curve]
    if sizes != sorted(set(sizes)):
        raise ValueError(f"tree sizes must ascend, not {sizes}")
    return curve


class ModelInfo(_Part):
    name: str
    source: str  # "hub", "packages (GGUF Q4_K_M, …)", …: quantisation differs between sources
    weights_sha256: str
    dtype: str
    device: str
    adapter: str | None = None


class Provenance(_Part):
    """Per part of the trace, and of what it was recorded with."""

    parts: Annotated[dict[str, Origin], AfterValidator(_has_every_part)]  # ``PARTS``, and what else there is to say
    target: ModelInfo
    sidecar: ModelInfo | None
    software: dict[str, str]
    date: str  # ISO 8601, UTC
    # The budget curve that drafts were cut by: (tokens in the tree, seconds).
    curve: Annotated[
        list[tuple[Some, Annotated[float, Field(gt=0, le=_LONGEST, allow_inf_nan=False)]]],
        Field(min_length=1),
        AfterValidator(_ascends),
    ]


class PrefillSample(_Part):
    request: str
    tokens: Some
    seconds: Seconds


class VerifySample(_Part):
    request: str
    tokens: Some  # in the tree, the root counts
    context: Count  # rows before the tree
    seconds: Seconds


class StepSample(_Part):
    request: str
    branches: Some
    tokens: Some  # fed by all branches together: a branch's first step reads its question
    context: Count  # rows before the step
    seconds: Seconds


class HostSample(_Part):
    """From the end of a forward of the target to the beginning of the next: commit, poll, draft, hand-over."""

    request: str
    seconds: Seconds


class LinkSample(_Part):
    """What it takes until a message of this size can be read by the target's side, a poll included."""

    bytes: Bytes
    seconds: Seconds


class Publish(_Part):
    """A hint as the sidecar published it."""

    seconds: Seconds  # since the start of the request's prefill
    version: Some
    ready: Count  # slots
    bytes: Bytes


class WaveStep(_Part):
    """One forward of the sidecar, and the version of the hint that was published after it, if one was."""

    kind: Literal["prefill", "step"]
    tokens: Some
    branches: Count  # 0 for the prefill
    context: Count  # rows before it
    seconds: Seconds
    publishes: int | None = None


class Wave(_Part):
    """The sidecar's pass over one request. ``start``: seconds since the start of the request's prefill."""

    start: Instant
    steps: list[WaveStep]


class Timing(_Part):
    """Samples, not fits."""

    target_prefill: list[PrefillSample]
    target_verify: list[VerifySample]
    sidecar_prefill: list[PrefillSample]
    sidecar_step: list[StepSample]
    host: list[HostSample]
    link: list[LinkSample] = []

    def add_wave(self, request: str, wave: Wave) -> None:
        """Take the forwards of a wave for samples."""
        for step in wave.steps:
            if step.kind == "prefill":
                self.sidecar_prefill.append(PrefillSample.of(request=request, **dict(step)))
            else:
                self.sidecar_step.append(StepSample.of(request=request, **dict(step)))


class Profile(_Part):
    """What is drafted and accepted at every output position under one hint version (0: no hint).

    Index i stands for i + 1 committed output tokens, so a list has ``output_tokens - 1`` entries. ``drafted`` counts
    the nodes of the merged tree without its root, ``accepted`` those on the path that the target's output takes; a
    round then commits ``min(accepted + 1, tokens that are left)``.
    """

    version: Count
    drafted: list[Count]
    accepted: list[Count]


class Round(_Part):
    """One draft-verify step as it was observed."""

    start: Instant  # seconds since the start of the request's prefill
    seconds: Seconds
    position: Some  # output tokens committed before it
    tokens: Some
    accepted: Count
    committed: Some
    hint_version: Count  # 0: none


class RequestTrace(_Part):
    """One request by one method."""

    request: str
    method: str
    prompt_tokens: Some
    output_tokens: Some
    functions: Count
    slots: Count
    payload_bytes: Bytes
    arrival: Seconds = 0.0  # seconds since the start of the run
    before: Seconds = 0.0  # seconds from there to the start of the prefill
    publishes: list[Publish]
    wave: Wave | None = None
    rounds: list[Round]
    profiles: list[Profile] = []  # of this method's drafters: version 0 (no hint), then every published version


class Trace(_Part):
    format: Literal["oospec-trace/1"] = "oospec-trace/1"
    provenance: Provenance
    timing: Timing
    requests: Annotated[list[RequestTrace], Field(min_length=1)]
