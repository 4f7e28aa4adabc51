"""Files that grow by a line at a time, so that a stopped run can go on."""

from __future__ import annotations

import contextlib
import fcntl
import os
from pathlib import Path

from oospec_async.errors import OospecError


class LineFile:
    """Lines that one process at a time appends. Unbuffered: nothing that failed is tried again at the close."""

    def __init__(self, path: Path, what: str) -> None:
        """``what`` begins every refusal. The file is made if it is not there.

        Raises OospecError if it cannot be written, or another process has it.
        """
        self.path, self._what = path, what
        try:
            self._file = path.open("a+b", buffering=0)
        except OSError as error:
            raise self._unwritable(error) from None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.close()
            raise OospecError(f"{what} {path}: another process is writing it; wait for it, or name another") from None
        except OSError as error:
            self.close()
            raise self._unwritable(error) from None

    def read(self) -> bytes:
        """All of it; what follows the last line's end is a line that was cut off."""
        self._file.seek(0)
        return self._file.readall()

    def keep(self, size: int) -> None:
        """Drop what follows the first ``size`` bytes. Raises OospecError."""
        try:
            self._file.truncate(size)
        except OSError as error:
            raise self._unwritable(error) from None

    def append(self, line: str) -> None:
        """The whole line is in the file when this returns, and nothing of it where it raises OospecError."""
        data = f"{line}\n".encode("utf-8", "backslashreplace")
        before = self._file.seek(0, os.SEEK_END)
        try:
            while data:
                data = data[self._file.write(data) :]
        except OSError as error:
            with contextlib.suppress(OSError):
                self._file.truncate(before)
            raise self._unwritable(error) from None

    def close(self) -> None:
        self._file.close()

    def _unwritable(self, error: OSError) -> OospecError:
        return OospecError(f"{self._what} {self.path}: cannot be written: {error.strerror or error}; name another file")
