"""LoRA adapters that come along: each a folder in ``adapters/`` here, for the sidecar that its configuration names.

A sidecar in a directory is known by its weights: ``weights.json`` has the SHA-256 of each form in which they are handed
out. One from a hub is known by its name too.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from oospec_async.errors import OospecError
from oospec_async.weights.adapters import NO_ADAPTER, SHIPPED, check_named, other_base
from oospec_async.weights.fetch import ModelFiles

_FOLDER = Path(__file__).parent / "adapters"


def find_adapter(named: str, sidecar: ModelFiles, report: Callable[[str], None]) -> Path | None:
    """The adapter that ``named`` means for a sidecar: a directory, ``shipped`` (None where none fits), or ``none``.

    ``report`` is told, in a line, what a user may not expect. Raises OospecError for a directory that holds no adapter.
    """
    if named == NO_ADAPTER:
        return None
    check_named(named)
    if named != SHIPPED:
        if (line := other_base(Path(named), sidecar.name)) is not None:
            report(line)
        return Path(named)
    if (found := _shipped(sidecar)) is None:
        report(f"sidecar {sidecar.name}: goes without an adapter: none of those that come along is for these weights")
    return found


def _shipped(sidecar: ModelFiles) -> Path | None:
    for config in sorted(_FOLDER.glob("*/adapter_config.json")):
        weights = config.parent / "weights.json"
        try:
            base = str(json.loads(config.read_text(encoding="utf-8"))["base_model_name_or_path"])
            known = list(json.loads(weights.read_text(encoding="utf-8"))["sha256"].values())
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            raise OospecError(f"{config.parent}: damaged; install oospec again, or say --adapter none") from None
        named = sidecar.source != "directory" and sidecar.name.lower() in (base.lower(), Path(base).name.lower())
        if named or sidecar.weights_sha256 in known:
            return config.parent
    return None
