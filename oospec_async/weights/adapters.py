"""LoRA adapters as folders in peft format: what they must hold, and whose they are."""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from pathlib import Path

from oospec_async.errors import OospecError

SHIPPED, NO_ADAPTER = "shipped", "none"  # what may be named instead of a folder


def check_named(adapter: str) -> None:
    """Raises OospecError for a directory that holds no adapter."""
    if adapter not in (SHIPPED, NO_ADAPTER):
        check_adapter(Path(adapter))


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


def other_base(folder: Path, name: str) -> str | None:
    """A line where an adapter says that it was made for a base of another name, perhaps a copy of the same."""
    base = ""
    with suppress(OSError, ValueError, KeyError, TypeError, RecursionError):  # told where it is loaded
        config = json.loads((folder / "adapter_config.json").read_text(encoding="utf-8"))
        base = str(config["base_model_name_or_path"] or "")
    if Path(base).name.lower() in ("", Path(name).name.lower()):
        return None
    return f"adapter {folder}: made for {base}, and the model is named {name}; it is taken if its shapes fit"
