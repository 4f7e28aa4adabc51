"""What all methods of a benchmark have in common: models, type and devices."""

from __future__ import annotations

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
    assistant: str | None = None
    dtype: str = "bfloat16"
