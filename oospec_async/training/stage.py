"""What stages share: JSON Lines in, JSON Lines out (at once, or a line at a time and resumable), and a progress bar."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from rich.console import Console
from rich.progress import Progress, TimeRemainingColumn

from oospec_async.console.output import COUNTED
from oospec_async.errors import OospecError
from oospec_async.files.journal import LineFile
from oospec_async.files.json_text import load_json
from oospec_async.files.writing import check_writable, same_file, write_atomically
from oospec_async.request import Json
from oospec_async.training.data.readers.base import Object, Row
from oospec_async.training.data.readers.source import read_rows


def read_lines(path: Path, *needed: str) -> list[Row]:
    """The rows of a file that a stage has written, or is writing. Raises OospecError naming file, line and field."""
    rows = list(read_rows(path, growing=True))
    for row in rows:
        for field in needed:
            if field not in row.data:
                raise OospecError(f"{row.where}: {field}: missing; this is no output of the stage before")
    return rows


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


class Journal:
    """A JSON Lines file that grows by a line at a time; opened again, it goes on where it ended.

    A last line that was cut off is dropped. One process at a time may hold it. A new one that fails
    before its first line is removed.
    """

    def __init__(self, path: Path, *needed: str) -> None:
        """``needed``: fields of every line. Raises OospecError if the file cannot be written, is held by another
        process, or holds lines of another stage; it stays as it is then.
        """
        check_writable(path, "output")
        self.path, self._needed = path, needed
        self._is_new = not path.exists()
        self._file = LineFile(path, "output")
        try:
            self.rows = list(self._read())
        except OospecError:
            self._file.close()
            raise

    def _read(self) -> Iterator[Object]:
        data = self._file.read()
        whole = data.rfind(b"\n") + 1
        for number, text in enumerate(data[:whole].split(b"\n"), start=1):
            if text.strip():
                where = f"{self.path}:{number}"
                row = load_json(text.decode("utf-8", "replace"), where, "one result a line")
                if not isinstance(row, dict):
                    raise OospecError(f"{where}: a result is a JSON object, not {type(row).__name__}")
                if lacking := [field for field in self._needed if field not in row]:
                    raise OospecError(f"{where}: {lacking[0]}: missing; this file is not of this stage; name another")
                yield row
        self._file.keep(whole)

    def add(self, row: Object) -> None:
        """Append a row; it is in the file when this returns. Raises OospecError."""
        self._file.append(line(row))
        self.rows.append(row)

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *raised: object) -> None:
        if any(raised) and self._is_new and not self.rows:
            self.path.unlink(missing_ok=True)
        self._file.close()
