"""The trace format ``oospec-trace/1``: numbers of a recorded run, and no texts. All times in seconds."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from oospec_async.files import write_atomically

FORMAT = "oospec-trace/1"


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Origin(_Part):
    """Where one part of the trace comes from."""

    kind: Literal["recorded", "modelled"]
    how: str


class ModelInfo(_Part):
    name: str
    source: str  # "hub", "packages (GGUF Q4_K_M, …)", …: quantisation differs between sources
    weights_sha256: str
    dtype: str
    device: str
    adapter: str | None = None


class Provenance(_Part):
    """Per part of the trace, and of what it was recorded with."""

    parts: dict[str, Origin]  # rounds, target timing, sidecar timing, host timing
    target: ModelInfo
    sidecar: ModelInfo | None
    software: dict[str, str]
    date: str  # ISO 8601, UTC
    curve: list[tuple[int, float]]  # (tokens in the tree, seconds): the budget curve that drafts were cut by


class PrefillSample(_Part):
    request: str
    tokens: int = Field(ge=1)
    seconds: float = Field(ge=0, allow_inf_nan=False)


class VerifySample(_Part):
    request: str
    tokens: int = Field(ge=1)  # in the tree, the root counts
    context: int = Field(ge=0)  # rows before the tree
    seconds: float = Field(ge=0, allow_inf_nan=False)


class StepSample(_Part):
    request: str
    branches: int = Field(ge=1)
    seconds: float = Field(ge=0, allow_inf_nan=False)


class HostSample(_Part):
    """From the end of a forward of the target to the beginning of the next: commit, poll, draft, hand-over."""

    request: str
    seconds: float = Field(ge=0, allow_inf_nan=False)


class Timing(_Part):
    """Samples, not fits."""

    target_prefill: list[PrefillSample]
    target_verify: list[VerifySample]
    sidecar_prefill: list[PrefillSample]
    sidecar_step: list[StepSample]
    host: list[HostSample]


class Publish(_Part):
    seconds: float  # since the start of the request's prefill
    version: int
    ready: int  # slots
    bytes: int


class Round(_Part):
    """One draft-verify step as it was observed."""

    start: float  # seconds since the start of the request's prefill
    seconds: float = Field(ge=0, allow_inf_nan=False)
    position: int = Field(ge=1)  # output tokens committed before it
    tokens: int = Field(ge=1)
    accepted: int = Field(ge=0)
    committed: int = Field(ge=1)
    hint_version: int = Field(ge=0)  # 0: none


class RequestTrace(_Part):
    """One request by one method."""

    request: str
    method: str
    prompt_tokens: int = Field(ge=1)
    output_tokens: int = Field(ge=1)
    functions: int = Field(ge=0)
    slots: int = Field(ge=0)
    payload_bytes: int = Field(ge=0)
    publishes: list[Publish]
    rounds: list[Round]


class Trace(_Part):
    format: Literal["oospec-trace/1"] = "oospec-trace/1"
    provenance: Provenance
    timing: Timing
    requests: list[RequestTrace]


def write_trace(trace: Trace, path: Path) -> None:
    """Write atomically. Raises OospecError if the file cannot be written."""
    write_atomically(path, trace.model_dump_json(indent=1), "trace")
