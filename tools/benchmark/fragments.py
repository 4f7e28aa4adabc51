"""What a trace is made of, kept request by request beside the rows and joined in the end."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from oospec_async.errors import OospecError
from oospec_async.files.journal import Journal, whole_lines
from oospec_async.trace import Origin, RequestTrace, Timing, Trace
from tools.benchmark.history import beside_rows
from tools.benchmark.rows import Row

_SAMPLES = tuple(Timing.model_fields)


class Fragments:
    """A file of traces of one request each. What a stopped run left of its last line is dropped."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: Journal[Any] | None = None

    def clear(self) -> None:
        """Remove what an earlier benchmark has left."""
        with beside_rows(self._path):
            self._path.unlink(missing_ok=True)

    def add(self, request: str, method: str, trace: Mapping[str, Any]) -> None:
        """Raises OospecError where the disk takes no more."""
        if self._file is None:
            self._file = Journal(self._path, "--record", _as_it_is, json.dumps)
        self._file.add({"request": request, "method": method, "trace": trace})

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def read(self) -> dict[tuple[str, str], Trace]:
        """By request and method; of two for one row the later one. Raises OospecError for a damaged file."""
        try:
            lines = whole_lines(self._path.read_bytes())
        except OSError:
            lines = []
        found: dict[tuple[str, str], Trace] = {}
        for number, line in enumerate(lines, start=1):
            try:
                item = json.loads(line)
                found[item["request"], item["method"]] = Trace.model_validate(item["trace"])
            except (ValueError, KeyError, TypeError, RecursionError):
                raise OospecError(f"{self._path}:{number}: no part of a trace; name another --rows") from None
        return found


def _as_it_is(line: bytes, where: str) -> bytes:
    """What an earlier run has left is read when the trace is made."""
    return line


def part_of(row: Row, fragments: Mapping[tuple[str, str], Trace]) -> Trace:
    """Raises OospecError where a row was measured without --record, or its part is lost."""
    part = fragments.get((row.request, row.method))
    if part is None:
        raise OospecError(f"--record: {row.request!r} by {row.method} was measured without it; name another --rows")
    return part


def join(rows: Sequence[Row], fragments: Mapping[tuple[str, str], Trace]) -> Trace:
    """The trace of these rows, which are those of run 0 in the order in which they were served.

    Raises OospecError where a row has no fragment, or none is left. Arrivals are as if nothing had been served between.
    """
    parts, arrival = [], 0.0
    requests: list[RequestTrace] = []
    for row in rows:
        if row.measured is None:
            continue
        parts.append(part_of(row, fragments))
        requests += [each.model_copy(update={"arrival": arrival}) for each in parts[-1].requests]
        arrival += row.measured.total_seconds
    if not parts:
        raise OospecError("--record: no request was served by a method of the engine, so there is no trace to write")
    provenance = parts[0].provenance
    origins = {
        name: Origin(kind=origin.kind, how=origin.how.replace("oospec-run --record", "tools/bench.py --record, run 0"))
        for name, origin in provenance.parts.items()
    }
    return Trace(
        provenance=provenance.model_copy(update={"parts": origins}),
        timing=Timing(**{name: [each for part in parts for each in getattr(part.timing, name)] for name in _SAMPLES}),
        requests=requests,
    )
