"""The rows file: a header that says what was measured on, then a line for each request by each method in each run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from oospec_async.errors import OospecError
from oospec_async.files.journal import LineFile
from oospec_async.files.writing import write_atomically
from oospec_async.trace import Count, Seconds, Some

FORMAT = "oospec-bench/1"

Key = tuple[int, str, str]  # run, request, method
Curve = Annotated[list[tuple[Some, Seconds]], Field(min_length=1)]  # seconds of a forward, by tokens in the tree
T = TypeVar("T", bound=BaseModel)


class _Part(BaseModel):
    # A margin is infinite where every other token is ruled out: as null it could not be read again.
    model_config = ConfigDict(extra="forbid", frozen=True, ser_json_inf_nan="constants")


class HintRow(_Part):
    """What became of the hint. Times in seconds since the request's start; None where it did not happen."""

    payload_bytes: Count = 0  # of the newest version that was polled
    versions: Count = 0  # polled ones
    arrival_seconds: Seconds | None = None
    arrival_position: Count | None = None  # output tokens committed by then
    whole_at_first_round: bool = False  # the last version that was published was there before the first round
    wave_seconds: Seconds | None = None


class Measured(_Part):
    """One request by one method. Times in seconds, from the request's text on: tokenisation counts.

    ``prefill_seconds`` is the forward alone; of ``generate`` it is from the call to the first token. ``host_seconds``
    is the decode without the target's forwards; None where they are not seen apart. ``rounds`` are forwards after the
    prefill, ``first_tokens`` what the prefill's own committed.
    """

    tokens: list[int]  # the output's ids
    margins: list[float] = []  # of each token: by how much its logit beat the second best; empty: not known
    total_seconds: Annotated[Seconds, Field(ge=1e-9)]  # what speedups divide by
    first_token_seconds: Seconds
    prefill_seconds: Seconds
    decode_seconds: Seconds
    host_seconds: Seconds | None = None
    rounds: Count
    first_tokens: Count = 1
    drafted: Count = 0
    accepted: Count = 0
    reused_tokens: Count = 0  # of the prompt, read for an earlier request
    sources: dict[str, Count] = {}  # output tokens by the drafter that proposed them; "": the target itself
    hint: HintRow | None = None


class Row(_Part):
    """What one request by one method gave in one run: ``measured``, or the reason why it could not be served."""

    run: Count
    request: str
    method: str
    measured: Measured | None = None
    error: str = ""

    @model_validator(mode="after")
    def _one_of_both(self) -> Row:
        if (self.measured is None) is not bool(self.error):
            raise ValueError("either 'measured' or 'error' is expected")
        return self

    @property
    def key(self) -> Key:
        return self.run, self.request, self.method


class Weights(_Part):
    name: str
    source: str
    sha256: str


class Fingerprint(_Part):
    """What must be the same for rows to belong together."""

    requests: str  # SHA-256
    target: Weights
    sidecar: Weights | None
    adapter: str | None
    drafter: Weights | None
    assistants: list[Weights]
    dtype: str
    devices: str
    machine: str
    software: dict[str, str]  # versions


class Header(_Part):
    """What is noted when a file is begun."""

    format: Literal["oospec-bench/1"] = "oospec-bench/1"
    fingerprint: Fingerprint
    methods: Annotated[list[str], Field(min_length=1)]
    runs: Some
    categories: Annotated[dict[str, str], Field(min_length=1)]  # of every request, in the order of the files
    date: str  # ISO 8601, UTC
    curves: dict[str, Curve] = {}  # by worker
    recorded: bool = False  # run 0 keeps what a trace is made of

    @property
    def expected(self) -> int:
        """Rows of the whole benchmark."""
        return self.runs * len(self.categories) * len(self.methods)


@dataclass(frozen=True)
class Contents:
    header: Header
    rows: Mapping[Key, Row]
    whole_bytes: int  # what a stopped run left of its last line comes after


def read_rows(path: Path) -> Contents:
    """Raises OospecError, one line with the file, the line and the field, for what is no such file.

    A last line without an end is one that was cut off: it is left out.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise OospecError(f"{path}: cannot read the rows: {error.strerror}") from None
    whole = data[: data.rfind(b"\n") + 1]
    lines = whole.split(b"\n")[:-1]
    if not lines:
        raise OospecError(f"{path}: no header of a rows file ({FORMAT}) in it; name another file, or remove it")
    header = _parse(Header, lines[0], f"{path}:1", f"the header of a rows file ({FORMAT})")
    rows: dict[Key, Row] = {}
    for number, line in enumerate(lines[1:], start=2):
        where = f"{path}:{number}"
        row = _parse(Row, line, where, "a row")
        known = row.run < header.runs and row.request in header.categories and row.method in header.methods
        if not known:
            raise OospecError(f"{where}: run {row.run}, {row.request!r} by {row.method!r} is not of this benchmark")
        if row.key in rows:
            raise OospecError(f"{where}: run {row.run}, {row.request!r} by {row.method!r} is there twice")
        rows[row.key] = row
    return Contents(header, rows, len(whole))


def _parse(kind: type[T], line: bytes, where: str, expected: str) -> T:
    try:
        return kind.model_validate_json(line)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        message = first["msg"].removeprefix("Value error, ")
        if first["type"] == "json_invalid":
            message, field = f"not JSON; {expected} is expected", ""
        line_of_it = " ".join(f"{where}: {field + ': ' if field else ''}{message}".split())
        raise OospecError(line_of_it) from None


def differing(old: Header, new: Header) -> str | None:
    """The first field that keeps rows of two benchmarks from belonging together, and both of its values."""
    before = old.fingerprint.model_dump() | {"methods": old.methods, "recorded": old.recorded}
    now = new.fingerprint.model_dump() | {"methods": new.methods, "recorded": new.recorded}
    for field, value in now.items():
        if before[field] != value:
            return f"{field} was {_short(before[field])} and is {_short(value)}"
    return None


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 100 else f"{text[:97]}…"


class RowsFile:
    """A rows file that a benchmark writes. Only one process at a time has it."""

    def __init__(self, path: Path, header: Header) -> None:
        """Begin a file, or go on with one, to as many runs as the header asks for; a line that was cut off is removed.

        Raises OospecError for a file of another benchmark or of more runs, or one that another process writes.
        """
        self.path = path
        self.rows: dict[Key, Row] = {}
        self.header = header
        self._file = LineFile(path, "--rows")
        try:
            if path.stat().st_size:
                self._go_on(header)
            else:
                self._file.append(header.model_dump_json())
        except OospecError:
            self._file.close()
            raise

    def _go_on(self, header: Header) -> None:
        contents = read_rows(self.path)
        if other := differing(contents.header, header):
            raise OospecError(
                f"{self.path}: holds rows of another benchmark: {other}; name another file with --rows, or remove it"
            )
        begun = 1 + max((row.run for row in contents.rows.values()), default=0)
        if header.runs < begun:
            raise OospecError(f"--runs {header.runs}: {self.path} holds rows of {begun} runs; ask for as many or more")
        self.header = contents.header.model_copy(update={"runs": header.runs})
        self.rows = dict(contents.rows)
        self._file.keep(contents.whole_bytes)
        if self.header != contents.header:
            _, rows = self._file.read().split(b"\n", 1)
            write_atomically(self.path, self.header.model_dump_json().encode() + b"\n" + rows, "--rows")
            replaced, self._file = self._file, LineFile(self.path, "--rows")
            replaced.close()

    def add(self, row: Row) -> None:
        """Raises OospecError where the disk takes no more."""
        self._file.append(row.model_dump_json(exclude_defaults=True))
        self.rows[row.key] = row

    def __enter__(self) -> RowsFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()
