"""The rows file: a header that says what was measured on, then a line for each request by each method in each run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from oospec_async.errors import OospecError
from oospec_async.files import journal
from oospec_async.files.journal import whole_lines
from oospec_async.files.reading import read_bytes
from oospec_async.files.validation import validated_json
from oospec_async.trace import Count, Seconds, Some

FORMAT = "oospec-bench/1"

Key = tuple[int, str, str]  # run, request, method
Curve = Annotated[list[tuple[Some, Seconds]], Field(min_length=1)]  # seconds of a forward, by tokens in the tree


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
    recorded: bool = False  # of earlier versions

    @property
    def expected(self) -> int:
        """Rows of the whole benchmark."""
        return self.runs * len(self.categories) * len(self.methods)


@dataclass(frozen=True)
class Contents:
    header: Header
    rows: Mapping[Key, Row]


def read_rows(path: Path) -> Contents:
    """Raises OospecError, one line with the file, the line and the field, for what is no such file.

    A last line without an end is one that was cut off: it is left out.
    """
    lines = whole_lines(read_bytes(path, "the rows"))
    if not lines:
        raise OospecError(f"{path}: no header of a rows file ({FORMAT}) in it; name another file, or remove it")
    header = _header(lines[0], path)
    rows = [_row(line, f"{path}:{number}") for number, line in enumerate(lines[1:], start=2)]
    return Contents(header, _by_key(header, rows, path))


def _by_key(header: Header, rows: Sequence[Row], path: Path) -> dict[Key, Row]:
    found: dict[Key, Row] = {}
    for number, row in enumerate(rows, start=2):
        what = f"{path}:{number}: run {row.run}, {row.request!r} by {row.method!r}"
        if row.run >= header.runs or row.request not in header.categories or row.method not in header.methods:
            raise OospecError(f"{what} is not of this benchmark")
        if row.key in found:
            raise OospecError(f"{what} is there twice")
        found[row.key] = row
    return found


def _header(line: bytes | str, path: Path) -> Header:
    return validated_json(Header, line, f"{path}:1", f"the header of a rows file ({FORMAT})")


def _row(line: bytes, where: str) -> Row:
    return validated_json(Row, line, where, "a row")


class RowsFile:
    """A rows file that a benchmark writes. Only one process at a time has it."""

    def __init__(self, path: Path, header: Header) -> None:
        """Begin a file, or go on with one, to as many runs as the header asks for; a line that was cut off is removed.

        Raises OospecError for a file of another benchmark or of more runs, or one that another process writes.
        """
        free = ("runs", "date", "curves", "categories", "recorded")
        journal_header = journal.Header(header.model_dump_json(), "rows of this benchmark", free)
        self._file = journal.Journal(path, "--rows", _row, _text, journal_header)
        try:
            self.header = _header(self._file.header, path)
            self.rows = _by_key(self.header, self._file.rows, path)
            self._run_to(header.runs)
        except OospecError:
            self._file.close()
            raise

    def _run_to(self, runs: int) -> None:
        begun = 1 + max((run for run, _, _ in self.rows), default=0)
        if runs < begun:
            raise OospecError(f"--runs {runs}: {self._file.path} holds rows of {begun} runs; ask for as many or more")
        if runs != self.header.runs:
            self.header = self.header.model_copy(update={"runs": runs})
            self._file.change_header(self.header.model_dump_json())

    def add(self, row: Row) -> None:
        """Raises OospecError where the disk takes no more."""
        self._file.add(row)
        self.rows[row.key] = row

    def __enter__(self) -> RowsFile:
        return self

    def __exit__(self, *raised: object) -> None:
        self._file.close()


def _text(row: Row) -> str:
    return row.model_dump_json(exclude_defaults=True)
