"""What stands beside every output: how it was made. The same inputs, options and seed give the same bytes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from oospec_async.errors import OospecError
from oospec_async.files import write_atomically
from oospec_async.provenance import software
from oospec_async.request import Json
from oospec_async.training.readers.base import Notes


def manifest_path(out: Path) -> Path:
    return out.with_name(f"{out.name}.manifest.json")


def sha256(path: Path) -> str:
    """Of a file's bytes. Raises OospecError."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise OospecError(f"{path}: cannot be read: {error.strerror}") from None


def write_manifest(
    out: Path,
    stage: str,
    options: Mapping[str, Json],
    sources: Sequence[Path],
    counts: Mapping[str, Json],
    notes: Notes | None = None,
) -> None:
    """Write ``OUT.manifest.json``. It has no time and no absolute path of its own, so that it can be compared.

    ``notes``: what was removed or repaired, by which rule, how often, and where first. Raises OospecError.
    """
    found = {
        "stage": stage,
        "options": dict(options),
        "sources": [{"path": str(path), "sha256": sha256(path)} for path in sources],
        "output": {"path": out.name, "sha256": sha256(out)},
        "counts": dict(counts),
        "rules": notes.as_json() if notes is not None else [],
        "software": software(),
    }
    write_atomically(manifest_path(out), json.dumps(found, indent=1, ensure_ascii=False) + "\n", "manifest")
