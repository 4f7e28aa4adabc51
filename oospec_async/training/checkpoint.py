"""Checkpoints and adapters on disk: whole or not at all."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import torch

from oospec_async.errors import OospecError

_NAME = "checkpoint.pt"


class Checkpoint:
    """The state of a training run, beside its adapter."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / _NAME

    def load(self) -> dict[str, Any] | None:
        """The last one, or None. Raises OospecError if it cannot be read."""
        if not self._path.exists():
            return None
        try:
            found: dict[str, Any] = torch.load(self._path, weights_only=True, map_location="cpu")
        except Exception as error:
            reason = " ".join(str(error).split())[:200]
            raise OospecError(f"{self._path}: cannot be read ({reason}); remove it to start over") from None
        return found

    def check(self, state: dict[str, Any], identity: str) -> None:
        """Raises OospecError for a checkpoint of another run."""
        if state["identity"] != identity:
            raise OospecError(
                f"{self._path}: of a run with other rows, seed or recipe; name another --out, or remove it"
            )

    def save(self, state: dict[str, Any]) -> None:
        """Raises OospecError if it cannot be written; the one before stays then."""
        new = self._path.with_suffix(".new")
        try:
            torch.save(state, new)
            os.replace(new, self._path)
        except (OSError, RuntimeError) as error:
            new.unlink(missing_ok=True)
            raise OospecError(f"{self._path}: cannot be written: {' '.join(str(error).split())[:200]}") from None


def save_adapter(model: Any, directory: Path) -> None:
    """Write the adapter in peft format; a reader finds the old files or the new ones. Raises OospecError."""
    new = directory / "adapter.new"
    try:
        shutil.rmtree(new, ignore_errors=True)
        model.save_pretrained(str(new), save_embedding_layers=False)
        for name in ("adapter_model.safetensors", "adapter_config.json"):
            os.replace(new / name, directory / name)
        shutil.rmtree(new, ignore_errors=True)
    except OSError as error:
        raise OospecError(f"adapter {directory}: cannot be written: {error.strerror}") from None
