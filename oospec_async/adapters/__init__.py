"""LoRA adapters that come along, by the sidecar that they were trained for."""

from __future__ import annotations

import hashlib
from pathlib import Path

from oospec_async.files import check_adapter

SHIPPED, NO_ADAPTER = "shipped", "none"

_FOLDERS = {"HuggingFaceTB/SmolLM2-135M-Instruct": "smollm2-135m"}


def find_adapter(named: str, sidecar: str) -> Path | None:
    """The adapter that ``named`` means for a sidecar: a directory, ``shipped`` (None where none is), or ``none``.

    Raises OospecError for a directory that holds no adapter.
    """
    if named == NO_ADAPTER:
        return None
    if named != SHIPPED:
        check_adapter(Path(named))
        return Path(named)
    folder = _FOLDERS.get(sidecar)
    return Path(__file__).parent / folder if folder is not None else None


def describe(adapter: Path) -> str:
    """Name and the beginning of the weights' SHA-256, for provenance. Raises OospecError."""
    check_adapter(adapter)
    weights = next(path for path in sorted(adapter.iterdir()) if path.stem == "adapter_model")
    return f"{adapter.name} (SHA-256 {hashlib.sha256(weights.read_bytes()).hexdigest()[:12]})"
