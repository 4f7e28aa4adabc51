"""What all methods of a benchmark have in common: models, type and devices."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict

from oospec_async.weights import DEFAULT_SIDECAR, DEFAULT_TARGET
from oospec_async.weights.adapters import SHIPPED


class Options(BaseModel):
    """Names of models are directories or Hugging Face ids. ``devices``: ``target,sidecar``."""

    model_config = ConfigDict(frozen=True)

    devices: str
    target: str = DEFAULT_TARGET
    sidecar: str = DEFAULT_SIDECAR
    adapter: str = SHIPPED
    draft_model: str | None = None
    assistants: tuple[str, ...] = ()
    dtype: str = "bfloat16"

    def assistant(self, short: str) -> str | None:
        """The assistant whose name's last part is ``short``; without a short name the only one there is."""
        if not short:
            return self.assistants[0] if len(self.assistants) == 1 else None
        return next((name for name in self.assistants if short_name(name) == short), None)


def short_name(name: str) -> str:
    """The last part of a directory or id: what a method's name can hold."""
    return Path(name).name
