"""Finished rows of a study, kept in a JSON Lines file so that an interrupted study can go on."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
from importlib import metadata
from pathlib import Path
from typing import Any

from oospec_async.errors import OospecError
from sim.study.spec import Study

Row = dict[str, Any]


def fingerprint(study: Study) -> str:
    """Of everything that rows depend on; assertions are not part of it."""
    digest = hashlib.sha256(metadata.version("oospec").encode())
    for path in (study.trace, study.colocated):
        if path is not None:
            try:
                digest.update(hashlib.sha256(path.read_bytes()).digest())
            except OSError as error:
                raise OospecError(f"{path}: cannot read the trace: {error.strerror}") from None
    digest.update(json.dumps([scenario.as_json() for scenario in study.scenarios]).encode())
    return digest.hexdigest()


class Rows:
    """Rows in the order of the scenarios; the file begins with the fingerprint, and a torn last line is dropped."""

    def __init__(self, path: Path, study: Study) -> None:
        """Raises OospecError if the file is there and belongs to something else, is held by another process, or
        cannot be written.
        """
        self.path = path
        self.rows: list[Row] = []
        head = json.dumps({"study": study.name, "fingerprint": fingerprint(study)}) + "\n"
        try:
            # Unbuffered: what could not be written must not be tried again when the file is closed.
            self._file = path.open("a+b", buffering=0)
        except OSError as error:
            raise self._unwritable(error) from None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not self._take_over(head):
                self._write(head)
        except BlockingIOError:
            self._file.close()
            raise OospecError(f"--rows {path}: another process is writing it; wait for it, or name another") from None
        except OSError as error:
            self._file.close()
            raise self._unwritable(error) from None
        except OospecError:
            self._file.close()
            raise

    def add(self, row: Row) -> None:
        """Append a row; it is in the file when this returns. Raises OospecError."""
        self._write(json.dumps(row) + "\n")
        self.rows.append(row)

    def finished(self) -> int:
        """As the file has it: an interrupt may have come between a row and its count."""
        self._file.seek(0)
        return max(self._file.readall().count(b"\n") - 1, 0)

    def close(self, *, remove: bool) -> None:
        if remove:
            with contextlib.suppress(OSError):
                self.path.unlink()
        self._file.close()

    def _write(self, text: str) -> None:
        data = text.encode("utf-8", "backslashreplace")
        before = self._file.seek(0, os.SEEK_END)
        try:
            while data:
                data = data[self._file.write(data) :]
        except OSError as error:
            with contextlib.suppress(OSError):
                self._file.truncate(before)
            raise self._unwritable(error) from None

    def _unwritable(self, error: OSError) -> OospecError:
        return OospecError(f"--rows {self.path}: cannot be written: {error.strerror or error}; name another file")

    def _take_over(self, head: str) -> bool:
        """Keep what an earlier run finished, and cut off what is torn. False: the file is new."""
        self._file.seek(0)
        data = self._file.readall()
        if not data or head.encode().startswith(data):  # an empty file, or a run that ended in its first write
            self._file.truncate(0)
            return False
        lines = data.split(b"\n")[:-1]  # what follows the last line's end is torn
        if not lines or lines[0] != head.rstrip("\n").encode():
            raise OospecError(
                f"--rows {self.path}: holds something else than rows of this study, trace and version; "
                f"remove it, or name another file"
            )
        whole = len(lines[0]) + 1
        for line in lines[1:]:
            try:
                self.rows.append(json.loads(line))
            except ValueError:
                break
            whole += len(line) + 1
        self._file.truncate(whole)
        return True
