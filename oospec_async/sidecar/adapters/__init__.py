"""LoRA adapters that come along: each a folder here in peft format, for the sidecar that its configuration names."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from oospec_async.errors import OospecError

SHIPPED, NO_ADAPTER = "shipped", "none"

_HERE = Path(__file__).parent


def find_adapter(named: str, sidecar: str) -> Path | None:
    """The adapter that ``named`` means for a sidecar: a directory, ``shipped`` (None where none is), or ``none``.

    Raises OospecError for a directory that holds no adapter.
    """
    if named == NO_ADAPTER:
        return None
    if named == SHIPPED:
        return _shipped(sidecar)
    check_adapter(Path(named))
    return Path(named)


def check_adapter(folder: Path) -> None:
    """Raises OospecError unless a directory holds an adapter's configuration and weights."""
    try:
        names = {entry.name for entry in folder.iterdir()}
    except OSError as error:
        raise OospecError(f"adapter {folder}: {error.strerror}; name a directory in peft format") from None
    if "adapter_config.json" not in names or not names & {"adapter_model.safetensors", "adapter_model.bin"}:
        raise OospecError(f"adapter {folder}: lacks adapter_config.json or adapter_model.safetensors")


def _shipped(sidecar: str) -> Path | None:
    """As the base may be named too: without its organisation, and in any case."""
    for config in sorted(_HERE.glob("*/adapter_config.json")):
        try:
            base = str(json.loads(config.read_text(encoding="utf-8"))["base_model_name_or_path"])
        except (OSError, ValueError, KeyError, TypeError):
            raise OospecError(f"{config}: damaged; install oospec again, or say --adapter none") from None
        if sidecar.lower() in (base.lower(), Path(base).name.lower()):
            return config.parent
    return None


def describe(adapter: Path) -> str:
    """Name and the beginning of the weights' SHA-256, for provenance. Raises OospecError."""
    check_adapter(adapter)
    weights = next(path for path in sorted(adapter.iterdir()) if path.stem == "adapter_model")
    try:
        digest = hashlib.sha256(weights.read_bytes()).hexdigest()
    except OSError as error:
        raise OospecError(f"{weights}: cannot be read: {error.strerror}") from None
    return f"{adapter.name} (SHA-256 {digest[:12]})"
