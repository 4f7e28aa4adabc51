"""The state of a training run on disk: whole or not at all, and of one process at a time."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from oospec_async.errors import OospecError
from oospec_async.files.lock import lock

_NAME = "checkpoint.pt"
_FIELDS = {"identity", "masters", "optimiser", "step", "tokens", "left_out", "spent", "best", "worse", "history"}


class Checkpoint:
    """The state of a training run, beside its adapter."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / _NAME

    def load(self) -> dict[str, Any] | None:
        """The last one, or None. Raises OospecError if it cannot be read."""
        if not self.path.exists():
            return None
        try:
            found: Any = torch.load(self.path, weights_only=True, map_location="cpu")
        except Exception as error:
            reason = " ".join(str(error).split())[:200]
            raise OospecError(f"{self.path}: cannot be read ({reason}); remove it to start over") from None
        if not isinstance(found, dict) or not found.keys() >= _FIELDS:
            raise OospecError(f"{self.path}: is no checkpoint of this program; name another --out")
        return found

    def save(self, state: dict[str, Any]) -> None:
        """Raises OospecError if it cannot be written; the one before stays then."""
        new = self.path.with_suffix(".new")
        try:
            try:
                torch.save(state, new)
                os.replace(new, self.path)
            finally:
                new.unlink(missing_ok=True)
        except (OSError, RuntimeError) as error:  # torch's own writer raises the latter
            reason = " ".join(str(error).split())[:200]
            raise OospecError(f"{self.path}: cannot be written ({reason}); a new start goes on") from None


@contextlib.contextmanager
def alone(directory: Path) -> Iterator[None]:
    """Holds a directory against other processes that train. Raises OospecError if one holds it."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        if not lock(handle):
            raise OospecError(f"--out {directory}: another process trains there; wait for it or name another")
        yield
    finally:
        os.close(handle)
