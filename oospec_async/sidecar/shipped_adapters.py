"""LoRA adapters that come along: each a folder in ``adapters/`` here, for the sidecar that its configuration names."""

from __future__ import annotations

import json
from pathlib import Path

from oospec_async.errors import OospecError
from oospec_async.weights.adapters import check_adapter

SHIPPED, NO_ADAPTER = "shipped", "none"

_FOLDER = Path(__file__).parent / "adapters"


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


def _shipped(sidecar: str) -> Path | None:
    """As the base may be named too: without its organisation, and in any case."""
    for config in sorted(_FOLDER.glob("*/adapter_config.json")):
        try:
            base = str(json.loads(config.read_text(encoding="utf-8"))["base_model_name_or_path"])
        except (OSError, ValueError, KeyError, TypeError):
            raise OospecError(f"{config}: damaged; install oospec again, or say --adapter none") from None
        if sidecar.lower() in (base.lower(), Path(base).name.lower()):
            return config.parent
    return None
