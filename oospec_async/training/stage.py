"""What stages share: JSON Lines in, JSON Lines out (at once, or a line at a time and resumable), and a progress bar."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from rich.console import Console
from rich.progress import Progress, TimeRemainingColumn

from oospec_async.console.output import COUNTED
from oospec_async.errors import OospecError
from oospec_async.files.journal import Journal
from oospec_async.files.json_text import load_json
from oospec_async.files.validation import M, validated
from oospec_async.files.writing import check_writable, same_file, write_atomically
from oospec_async.request import Json
from oospec_async.training.data.readers.base import Row
from oospec_async.training.data.readers.source import read_rows
from oospec_async.training.records import Object


def read_lines(path: Path, *needed: str) -> list[Row]:
    """The rows of a file that a stage has written, or is writing. Raises OospecError naming file, line and field."""
    rows = list(read_rows(path, growing=True))
    for row in rows:
        for field in needed:
            if field not in row.data:
                raise OospecError(f"{row.where}: {field}: missing; this is no output of the stage before")
    return rows


def read_records(path: Path, kind: type[M]) -> list[tuple[str, M]]:
    """Those rows as values of a kind, each with its place. Raises OospecError as above."""
    required = (name for name, field in kind.model_fields.items() if field.is_required())
    return [(row.where, validated(kind, row.data, row.where, "a row")) for row in read_lines(path, *required)]


def write_lines(path: Path, rows: Iterable[Object]) -> None:
    """Write a whole file or nothing. Raises OospecError."""
    write_atomically(path, "".join(f"{line(row)}\n" for row in rows), "output")


def line(row: Json) -> str:
    return json.dumps(row, ensure_ascii=False)


def check_output(out: Path, *inputs: Path) -> None:
    """Raises OospecError for an output that cannot be written, or that is one of the inputs."""
    check_writable(out, "output")
    for path in inputs:
        if same_file(out, path):
            raise OospecError(f"output {out}: is an input of this stage; name another file")


def progress() -> Progress:
    """A bar on stderr: what is done, how many of how many, time gone and time left."""
    return Progress(*COUNTED, TimeRemainingColumn(), console=Console(stderr=True))


@contextlib.contextmanager
def resumed(path: Path, *needed: str) -> Iterator[Journal[Object]]:
    """A journal of results, each with the ``needed`` fields. A new one that fails before its first line is removed.

    Raises OospecError as ``Journal`` does, and for lines of another stage.
    """
    check_writable(path, "output")
    is_new = not path.exists()

    def parse(text: bytes, where: str) -> Object:
        row = load_json(text.decode("utf-8", "replace"), where, "one result a line")
        if not isinstance(row, dict):
            raise OospecError(f"{where}: a result is a JSON object, not {type(row).__name__}")
        if lacking := [field for field in needed if field not in row]:
            raise OospecError(f"{where}: {lacking[0]}: missing; this file is not of this stage; name another")
        return row

    with Journal(path, "output", parse, line) as journal:
        try:
            yield journal
        except BaseException:
            if is_new and not journal.rows:
                path.unlink(missing_ok=True)
            raise
