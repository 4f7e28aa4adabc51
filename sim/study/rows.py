"""Finished rows of a study, kept in a JSON Lines file so that an interrupted study can go on."""

from __future__ import annotations

import contextlib
import hashlib
import json
from importlib import metadata
from pathlib import Path
from typing import Any

from oospec_async.errors import OospecError
from oospec_async.files.journal import LineFile
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
        head = json.dumps({"study": study.name, "fingerprint": fingerprint(study)})
        self._file = LineFile(path, "--rows")
        try:
            self._take_over(head)
        except OospecError:
            self._file.close()
            raise

    def add(self, row: Row) -> None:
        """Append a row; it is in the file when this returns. Raises OospecError."""
        self._file.append(json.dumps(row))
        self.rows.append(row)

    def finished(self) -> int:
        """As the file has it: an interrupt may have come between a row and its count."""
        return max(self._file.read().count(b"\n") - 1, 0)

    def close(self, *, remove: bool) -> None:
        if remove:
            with contextlib.suppress(OSError):
                self.path.unlink()
        self._file.close()

    def _take_over(self, head: str) -> None:
        """Keep what an earlier run finished, and cut off what is torn."""
        data = self._file.read()
        if head.encode().startswith(data):  # an empty file, or a run that ended in its first write
            self._file.keep(0)
            self._file.append(head)
            return
        lines = data.split(b"\n")[:-1]  # what follows the last line's end is torn
        if not lines or lines[0] != head.encode():
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
        self._file.keep(whole)
