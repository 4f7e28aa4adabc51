"""The trace format ``oospec-trace/1``: numbers of a run, recorded or modelled, and no texts. All times in seconds.

``docs/traces.md`` explains every field. Reading a trace checks it as a whole: see ``trace_check``.
"""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from oospec_async.errors import OospecError
from oospec_async.files import write_atomically
from oospec_async.json_text import dotted
from oospec_async.trace_check import problems

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

    parts: dict[str, Origin]  # ``PARTS``, and what else there is to say
    target: ModelInfo
    sidecar: ModelInfo | None
    software: dict[str, str]
    date: str  # ISO 8601, UTC
    # The budget curve that drafts were cut by: (tokens in the tree, seconds).
    curve: list[tuple[Some, Annotated[float, Field(gt=0, le=_LONGEST, allow_inf_nan=False)]]]


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


class Timing(_Part):
    """Samples, not fits."""

    target_prefill: list[PrefillSample]
    target_verify: list[VerifySample]
    sidecar_prefill: list[PrefillSample]
    sidecar_step: list[StepSample]
    host: list[HostSample]
    link: list[LinkSample] = []


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
    requests: list[RequestTrace]


def write_trace(trace: Trace, path: Path) -> None:
    """Write atomically, a line a request; gzipped if the name ends in ``.gz``. Raises OospecError if it cannot be."""
    text = _as_text(trace)
    write_atomically(path, gzip.compress(text.encode(), mtime=0) if path.suffix == ".gz" else text, "trace")


def read_trace(path: Path) -> Trace:
    """Read a trace, plain or gzipped, and check it as a whole.

    Raises OospecError, one line that names the file and the field, for the first thing that is wrong.
    """
    trace, wrong = _read(path)
    if trace is None or wrong:
        more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
        raise OospecError(f"{path}: {wrong[0]}{more}")
    return trace


def check_trace(path: Path) -> list[str]:
    """Everything that is wrong with a trace, a line each that begins with the file and the field; empty if it is whole.

    Raises OospecError for a file that cannot be read at all.
    """
    return [f"{path}: {problem}" for problem in _read(path)[1]]


_GZIP = b"\x1f\x8b"
# What pydantic says in Python's words, in those of JSON.
_PLAINLY = {
    "missing": "missing",
    "extra_forbidden": "unknown; remove it, or read the trace with the version that wrote it",
    "model_type": "an object is expected",
    "list_type": "a list is expected",
    "finite_number": "a finite number is expected",
}


def _read(path: Path) -> tuple[Trace | None, list[str]]:
    try:
        data = path.read_bytes()
        data = gzip.decompress(data) if data.startswith(_GZIP) else data  # by content: names get lost
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise OospecError(f"{path}: damaged gzip; record or fetch the trace again") from None
    except OSError as error:
        raise OospecError(f"{path}: cannot read the trace: {error.strerror}") from None
    try:
        trace = Trace.model_validate_json(data)
    except ValidationError as error:
        wrong = [_plainly(each["type"], each["loc"], each["msg"], each["input"]) for each in error.errors()]
        foreign = [line for line in wrong if line.startswith("format:")]  # then the rest says little
        return None, foreign or wrong
    return trace, [" ".join(problem.split()) for problem in problems(trace, PARTS)]  # a name may hold a line break


def _plainly(kind: str, loc: tuple[int | str, ...], message: str, value: object) -> str:
    if kind == "json_invalid":
        return f"not JSON ({message.removeprefix('Invalid JSON: ')}); a trace ({FORMAT}) is expected"
    field = dotted(loc)
    if field == "format":
        return f"format: {value!r} is unknown; this version reads {FORMAT!r}"
    if not field:
        return f"an object with provenance, timing and requests is expected, not {type(value).__name__}"
    shown = f", not {value!r}" if isinstance(value, int | float | str) and len(repr(value)) < 40 else ""
    return f"{field}: {_PLAINLY.get(kind, message)}{shown if kind not in ('missing', 'extra_forbidden') else ''}"


def _as_text(trace: Trace) -> str:
    """JSON with a line a request, so that a difference between two traces can be read."""
    requests = ",\n".join(request.model_dump_json() for request in trace.requests)
    head = f'{{"format":"{trace.format}",\n"provenance":{trace.provenance.model_dump_json()}'
    return f'{head},\n"timing":{trace.timing.model_dump_json()},\n"requests":[\n{requests}\n]}}\n'
