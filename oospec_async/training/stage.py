"""What stages share: JSON Lines in, JSON Lines out (at once, or a line at a time and resumable), and a progress bar."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.progress import Progress, TimeRemainingColumn

from oospec_async.console.output import COUNTED
from oospec_async.errors import OospecError
from oospec_async.files.journal import Journal
from oospec_async.files.json_text import load_json
from oospec_async.files.validation import M, validated
from oospec_async.files.writing import check_writable, same_file, write_atomically
from oospec_async.request import Json, Request, parse_request
from oospec_async.training.manifest import check_goes_on, write_manifest
from oospec_async.training.notes import Notes
from oospec_async.training.records import Object, Row
from oospec_async.training.row_files import read_rows


def read_lines(path: Path, *needed: str) -> list[Row]:
    """The rows of a file that a stage has written, or is writing. Raises OospecError naming file, line and field."""
    rows = list(read_rows(path, growing=True))
    for row in rows:
        if lacking := [name for name in needed if name not in row.data]:
            raise OospecError(f"{row.where}: {lacking[0]}: missing; this is no output of the stage before")
    return rows


def read_records(path: Path, kind: type[M]) -> list[tuple[str, M]]:
    """Those rows as values of a kind, each with its place. Raises OospecError as above."""
    required = (name for name, field in kind.model_fields.items() if field.is_required())
    return [(row.where, validated(kind, row.data, row.where, "a row")) for row in read_lines(path, *required)]


def read_asked(path: Path) -> list[Request]:
    """The requests of a file. Raises OospecError naming file, line and field."""
    return [parse_request(row.data, row.where) for row in read_lines(path, "id")]


def write_output(
    out: Path,
    rows: Iterable[Object],
    stage: str,
    options: Mapping[str, Json],
    sources: Sequence[Path],
    counts: Mapping[str, Json],
    notes: Notes | None = None,
) -> None:
    """Write a whole file or nothing, and its manifest. Raises OospecError."""
    write_atomically(out, "".join(f"{_line(row)}\n" for row in rows), "output")
    write_manifest(out, stage, options, sources, counts, notes)


def _line(row: Json) -> str:
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


@dataclass(frozen=True)
class Growing:
    """An output that grows by a line at a time, and goes on where it ended.

    ``options`` make its lines what they are, so that only the same ones go on with it; the manifest has ``more`` too.
    ``needed``: the fields of every line.
    """

    out: Path
    stage: str
    options: Mapping[str, Json]
    sources: Sequence[Path]
    needed: Sequence[str]
    counts: Callable[[Sequence[Object]], Mapping[str, Json]]
    more: Mapping[str, Json] = field(default_factory=dict)

    @contextlib.contextmanager
    def opened(self) -> Iterator[tuple[Journal[Object], Progress]]:
        """The journal and a bar. Whatever ends it, a manifest says how far it came; without a line nothing stays.

        Raises OospecError as ``Journal`` does, for lines of another stage, and for an output of other options.
        """
        check_goes_on(self.out, self.stage, self.options)
        check_writable(self.out, "output")
        is_new = not self.out.exists()
        with Journal(self.out, "output", self._parsed, _line) as journal, progress() as bar:
            try:
                yield journal, bar
            except BaseException:
                if is_new and not journal.rows:
                    self.out.unlink(missing_ok=True)
                raise
            finally:
                if journal.rows:
                    options = {**self.options, **self.more}
                    write_manifest(self.out, self.stage, options, self.sources, self.counts(journal.rows))

    def _parsed(self, text: bytes, where: str) -> Object:
        row = load_json(text.decode("utf-8", "replace"), where, "one result a line")
        if not isinstance(row, dict):
            raise OospecError(f"{where}: a result is a JSON object, not {type(row).__name__}")
        if lacking := [name for name in self.needed if name not in row]:
            raise OospecError(f"{where}: {lacking[0]}: missing; this file is not of this stage; name another")
        return row
