"""What methods have learned, kept beside the rows so that a stopped run goes on as if it had not been."""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from oospec_async.errors import OospecError
from oospec_async.files.writing import write_atomically

_PARTS = frozenset(  # what a history is made of
    {
        ("collections", "deque"),
        ("numpy", "dtype"),
        ("numpy._core.numeric", "_frombuffer"),
        ("numpy.core.numeric", "_frombuffer"),  # before numpy 2
        ("oospec_async.decoding.memory", "Entry"),
        ("oospec_async.decoding.memory", "Memory"),
        ("oospec_async.dialects.dialect", "Dialect"),
        ("oospec_async.dialects.dialect", "Spacing"),
        ("transformers.generation.configuration_utils", "GenerationConfig"),
    }
)


@contextlib.contextmanager
def beside_rows(path: Path) -> Iterator[None]:
    """What keeps ``path``, which lies beside a rows file, from being written becomes an OospecError that names it."""
    try:
        yield
    except OSError as error:
        raise OospecError(f"{path}: {error.strerror}; remove it, or name another --rows") from None


class History:
    """A folder of pickles, two a method in turn: whenever a process dies, the one that belongs to the rows is whole."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def save(self, method: str, run: int, count: int, state: Any) -> None:
        """Keep the state after ``count`` requests of a run."""
        self._folder.mkdir(exist_ok=True)
        content = pickle.dumps((run, count, state), protocol=pickle.HIGHEST_PROTOCOL)
        write_atomically(self._path(method, count), content, "history")

    def load(self, method: str, run: int, count: int) -> Any:
        """Raises OospecError where there is none for this place in the run."""
        path = self._path(method, count)
        with contextlib.suppress(Exception), path.open("rb") as stream:  # a damaged pickle raises what it likes
            saved_run, saved_count, state = _Unpickler(stream).load()
            if (saved_run, saved_count) == (run, count):
                return state
        raise OospecError(
            f"{path}: what {method} knew after {count} requests of run {run} is not in it, so the rows cannot be gone "
            f"on with; name another --rows"
        )

    def clear(self) -> None:
        """Remove what no run will go on from."""
        for path in self._folder.glob("*.pickle"):
            path.unlink(missing_ok=True)

    def _path(self, method: str, count: int) -> Path:
        return self._folder / f"{quote(method, safe='')}-{count % 2}.pickle"


class _Unpickler(pickle.Unpickler):
    """Loads nothing that runs commands: rows may have come from somebody else."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _PARTS:  # the whole name: a dotted one would lead on to what the module imports
            raise pickle.UnpicklingError(f"{module}.{name} is no part of a history")
        return super().find_class(module, name)
