"""Traces in files, plain or gzipped. Reading one checks it as a whole."""

from __future__ import annotations

import gzip
from pathlib import Path

from pydantic import ValidationError

from oospec_async.errors import OospecError
from oospec_async.files.reading import read_unpacked
from oospec_async.files.validation import problems
from oospec_async.files.writing import write_atomically
from oospec_async.trace.check import inconsistencies
from oospec_async.trace.format import FORMAT, Trace


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


def _read(path: Path) -> tuple[Trace | None, list[str]]:
    data = read_unpacked(path, "the trace")
    try:
        trace = Trace.model_validate_json(data)
    except ValidationError as error:
        wrong = list(problems(error, f"a trace ({FORMAT}), an object with provenance, timing and requests,"))
        foreign = [line for line in wrong if line.startswith("format:")]  # then the rest says little
        return None, foreign or wrong
    return trace, [" ".join(problem.split()) for problem in inconsistencies(trace)]  # a name may hold a line break


def _as_text(trace: Trace) -> str:
    """JSON with a line a request, so that a difference between two traces can be read."""
    requests = ",\n".join(request.model_dump_json() for request in trace.requests)
    head = f'{{"format":"{trace.format}",\n"provenance":{trace.provenance.model_dump_json()}'
    return f'{head},\n"timing":{trace.timing.model_dump_json()},\n"requests":[\n{requests}\n]}}\n'
