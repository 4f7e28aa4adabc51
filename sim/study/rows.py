"""Finished rows of a study, kept in a JSON Lines file so that an interrupted study can go on."""

from __future__ import annotations

import contextlib
import hashlib
import json
from importlib import metadata
from pathlib import Path
from typing import IO, Any

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
        """Raises OospecError if the file is there and belongs to something else, or cannot be written."""
        self.path = path
        self.rows: list[Row] = []
        head = json.dumps({"study": study.name, "fingerprint": fingerprint(study)}) + "\n"
        try:
            whole = self._read(head)
            self._file: IO[str] = open(path, "r+" if whole else "w", encoding="utf-8")  # noqa: SIM115
            if whole:
                self._file.truncate(whole)
                self._file.seek(whole)
            else:
                self._file.write(head)
                self._file.flush()
        except OSError as error:
            raise OospecError(f"--rows {path}: cannot be written: {error.strerror}; name another file") from None

    def add(self, row: Row) -> None:
        self._file.write(json.dumps(row) + "\n")
        self._file.flush()
        self.rows.append(row)

    def finished(self) -> int:
        """As the file has it: an interrupt may have come between a row and its count."""
        return self.path.read_bytes().count(b"\n") - 1

    def close(self, *, remove: bool) -> None:
        self._file.close()
        if remove:
            with contextlib.suppress(OSError):
                self.path.unlink()

    def _read(self, head: str) -> int:
        """Take over what an earlier run finished. Returns how many bytes of the file are whole, 0 for no file."""
        if not self.path.exists():
            return 0
        lines = self.path.read_bytes().split(b"\n")[:-1]  # what follows the last line's end is torn
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
        return whole
