"""JSON Lines files that grow by a row at a time, so that a stopped run can go on."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import Any, Generic, TypeVar

from oospec_async.errors import OospecError
from oospec_async.files.lock import lock
from oospec_async.files.writing import write_atomically

T = TypeVar("T")


def whole_lines(data: bytes) -> list[bytes]:
    """Without their ends. What follows the last end is a line that was cut off, and left out."""
    return data.split(b"\n")[:-1]


def check_same(before: Mapping[str, Any], now: Mapping[str, Any], where: str, rows: str) -> None:
    """Raises OospecError naming the first field, by its path, that is another one now, and both of its values.

    ``where`` begins the refusal; ``rows`` says what is asked for: "rows of this benchmark".
    """
    old, new = dict(_fields(before)), dict(_fields(now))
    for field in {**new, **old}:
        was, value = old.get(field), new.get(field)
        if was != value:
            raise OospecError(
                f"{where}: holds something else than {rows}: {field} was {_short(was)} and is {_short(value)}; "
                f"name another file, or remove it"
            )


@dataclass(frozen=True)
class Header:
    """The first line of a journal, a JSON object: what its rows depend on. ``free``: fields that may differ."""

    line: str
    rows: str  # what the journal holds, in a refusal: "rows of this benchmark"
    free: Collection[str] = ()

    def check(self, found: bytes, where: str) -> None:
        """Raises OospecError for a header whose rows do not belong to ours."""
        try:
            before = json.loads(found)
        except (ValueError, RecursionError):
            before = None  # no header at all: every field differs
        before = before if isinstance(before, dict) else {}
        check_same(self._fixed(before), self._fixed(json.loads(self.line)), where, self.rows)

    def _fixed(self, header: Mapping[str, Any]) -> dict[str, Any]:
        return {field: value for field, value in header.items() if field not in self.free}


class Journal(Generic[T]):
    """Rows that one process at a time appends to a file; opened again, it goes on after the last whole one.

    ``rows``: all that the file holds; ``header``: its first line. Unbuffered: nothing that failed is tried again at the
    close.
    """

    def __init__(
        self,
        path: Path,
        what: str,
        parse: Callable[[bytes, str], T],
        encode: Callable[[T], str],
        header: Header | None = None,
    ) -> None:
        """Begin a file, or go on with one: a last line that was cut off is removed.

        ``what`` begins every refusal. ``parse`` makes a row of a line and of the place that errors name ("FILE:LINE").
        Raises OospecError if the file cannot be written, is held by another process, has another header, or has a row
        that ``parse`` refuses; it stays as it is then.
        """
        self.path, self._what, self._encode, self._header = path, what, encode, header
        self.header = header.line if header is not None else ""
        self._file = self._opened()
        try:
            self.rows = self._go_on(parse)
        except OSError as error:
            self.close()
            raise self._unwritable(error) from None
        except OospecError:
            self.close()
            raise

    def _opened(self) -> FileIO:
        try:
            file = self.path.open("a+b", buffering=0)
            if lock(file):
                return file
        except OSError as error:
            raise self._unwritable(error) from None
        file.close()
        raise OospecError(f"{self._what} {self.path}: another process is writing it; wait for it, or name another")

    def _go_on(self, parse: Callable[[bytes, str], T]) -> list[T]:
        where = f"{self._what} {self.path}"
        data, rows, first = self._read(), [], 1
        lines = whole_lines(data)
        if self._header is not None:
            first = 2
            if self._header.line.encode().startswith(data):  # a new file, or a run that ended in its first write
                self._file.truncate(0)
                self._append(self._header.line)
                return []
            self._header.check(lines[0] if lines else data, where)
            self.header = lines[0].decode()
        for number, line in enumerate(lines[first - 1 :], start=first):
            if line.strip():
                rows.append(parse(line, f"{self.path}:{number}"))
        self._file.truncate(sum(map(len, lines)) + len(lines))
        return rows

    def add(self, row: T) -> None:
        """The whole row is in the file when this returns, and nothing of it where it raises OospecError."""
        self._append(self._encode(row))
        self.rows.append(row)

    def change_header(self, line: str) -> None:
        """Put another header before the same rows, whole or not at all. Raises OospecError."""
        _, rows = self._read().split(b"\n", 1)
        write_atomically(self.path, f"{line}\n".encode() + rows, self._what)
        replaced, self._file = self._file, self._opened()
        replaced.close()
        self.header = line

    def written(self) -> int:
        """Rows as the file has them: an interrupt may have come between a row and its place in ``rows``."""
        return max(len(whole_lines(self._read())) - (self._header is not None), 0)

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Journal[T]:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def _read(self) -> bytes:
        self._file.seek(0)
        return self._file.readall()

    def _append(self, line: str) -> None:
        data = f"{line}\n".encode("utf-8", "backslashreplace")
        before = self._file.seek(0, os.SEEK_END)
        try:
            while data:
                data = data[self._file.write(data) :]
        except OSError as error:
            with contextlib.suppress(OSError):
                self._file.truncate(before)
            raise self._unwritable(error) from None

    def _unwritable(self, error: OSError) -> OospecError:
        return OospecError(f"{self._what} {self.path}: cannot be written: {error.strerror or error}; name another file")


def _fields(values: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    """Of objects within objects too."""
    for name, value in values.items():
        if isinstance(value, Mapping) and value:
            yield from _fields(value, f"{path}{name}.")
        else:
            yield f"{path}{name}", value


def _short(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 100 else f"{text[:97]}…"
