"""LoRA adapters as folders in peft format: what they must hold, and whose they are."""

from __future__ import annotations

import hashlib
from pathlib import Path

from oospec_async.errors import OospecError


def check_adapter(folder: Path) -> None:
    """Raises OospecError unless a directory holds an adapter's configuration and weights."""
    try:
        names = {entry.name for entry in folder.iterdir()}
    except OSError as error:
        raise OospecError(f"adapter {folder}: {error.strerror}; name a directory in peft format") from None
    if "adapter_config.json" not in names or not names & {"adapter_model.safetensors", "adapter_model.bin"}:
        raise OospecError(f"adapter {folder}: lacks adapter_config.json or adapter_model.safetensors")


def describe_adapter(folder: Path) -> str:
    """Name and the beginning of the weights' SHA-256, for provenance. Raises OospecError."""
    check_adapter(folder)
    weights = next(path for path in sorted(folder.iterdir()) if path.stem == "adapter_model")
    try:
        digest = hashlib.sha256(weights.read_bytes()).hexdigest()
    except OSError as error:
        raise OospecError(f"{weights}: cannot be read: {error.strerror}") from None
    return f"{folder.name} (SHA-256 {digest[:12]})"
