"""What an engine is opened with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from oospec_async.weights import DEFAULT_SIDECAR, DEFAULT_TARGET
from oospec_async.weights.adapters import SHIPPED

Report = Callable[[str], None]


@dataclass(frozen=True)
class EngineConfig:
    """``target``, ``sidecar``: a directory or a Hugging Face id. ``devices``: ``target,sidecar``; None picks them.

    ``draft_model``: likewise a directory or an id, of a smaller model with the target's tokenizer. It takes the
    target's device and dtype.
    """

    target: str = DEFAULT_TARGET
    sidecar: str | None = DEFAULT_SIDECAR
    draft_model: str | None = None
    adapter: str = SHIPPED  # of the sidecar: a directory, "shipped" or "none"
    devices: str | None = None
    dtype: str = "bfloat16"
    method: str = "oospec"
    reuse_prefix: bool = True  # do not read again what the prompt before, by the same method, began with alike
    record: bool = False  # keep every event, for timelines and traces
    finish_waves: bool = False  # let a wave run on where its decode has ended, so that its whole length is known
