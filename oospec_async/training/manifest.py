"""What stands beside every output: how it was made. The same inputs, options and seed give the same bytes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from oospec_async.errors import OospecError
from oospec_async.files.journal import check_same
from oospec_async.files.writing import write_atomically
from oospec_async.recording.provenance import software
from oospec_async.request import Json
from oospec_async.training.notes import Notes


def manifest_path(out: Path) -> Path:
    return out.with_name(f"{out.name}.manifest.json")


def sha256(path: Path) -> str:
    """Of a file's bytes. Raises OospecError."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise OospecError(f"{path}: cannot be read: {error.strerror}") from None


def check_goes_on(out: Path, stage: str, options: Mapping[str, Json]) -> None:
    """Raises OospecError for an output that was begun with other options: its lines would not be of one kind.

    Looks at the manifest, which a stage that was killed has not written.
    """
    path = manifest_path(out)
    if not (out.exists() and path.exists()):
        return
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        was = found["options"] if found["stage"] == stage else {}
    except (OSError, ValueError, TypeError, KeyError):
        raise OospecError(f"{path}: is no manifest of this program; remove it, or name another --out") from None
    known = options.keys() & was.keys()
    now = {name: value for name, value in options.items() if name in known}
    check_same({name: was[name] for name in now}, now, str(out), "lines made with these options")


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
