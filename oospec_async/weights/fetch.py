"""A model's name becomes a local directory that `transformers` can load.

In this order: a directory; the local hub cache; a model converted earlier; the hub; the packaged GGUF files.
A GGUF file of the hub is fetched and converted where it is named.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from oospec_async.errors import OospecError
from oospec_async.files.writing import write_atomically
from oospec_async.weights import hub, packaged
from oospec_async.weights.places import cache_dir


@dataclass(frozen=True)
class ModelFiles:
    """Where a model lies, where it came from, and which weights it has."""

    name: str  # as asked for
    path: Path
    source: str  # "directory", "hub cache", "hub", or "packages (GGUF …, converted to bfloat16)"
    weights_sha256: str  # over the contents of the weight files, in the order of their names

    @property
    def line(self) -> str:
        return f"{self.name}: {self.source}, sha256 {self.weights_sha256[:8]}…, in {self.path}"


def resolve(name: str) -> ModelFiles:
    """Find the model, or fetch it.

    `name` is a directory, a Hugging Face id, or a packaged model's id without its organisation.
    Raises OospecError if it cannot be had.
    """
    try:
        path, source = _locate(name)
        return ModelFiles(name, path, source, weights_sha256(path))
    except OSError as error:
        raise OospecError(f"{name}: {error.filename or 'its files'}: {error.strerror}") from None


def weights_sha256(folder: Path) -> str:
    """SHA-256 over the weight files' contents, remembered in our cache for as long as no size or time changes."""
    files = hub.weight_files(folder)
    seen = [[str(file.resolve()), (stat := file.stat()).st_size, stat.st_mtime_ns] for file in files]
    memo = cache_dir() / "hashes" / (hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()[:32] + ".json")
    with suppress(OSError, ValueError, KeyError, TypeError):
        known = json.loads(memo.read_text())
        if known["files"] == seen:
            return str(known["sha256"])
    digest = hashlib.sha256()
    for file in files:
        with file.open("rb") as stream:
            hashlib.file_digest(stream, lambda: digest)  # goes on with the same one
    with suppress(OSError, OospecError):  # a cache that cannot be written costs time, not the answer
        memo.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(memo, json.dumps({"files": seen, "sha256": digest.hexdigest()}), "hash")
    return digest.hexdigest()


def fetch_models(names: Sequence[str]) -> None:
    """Have models on this disk, so that later runs find them there; a line for each on stdout. Raises OospecError."""
    for name in names:
        print(resolve(name).line, flush=True)


def _locate(name: str) -> tuple[Path, str]:
    try:
        path = Path(name).expanduser()
        there = bool(name) and path.exists()
    except (OSError, RuntimeError, ValueError) as error:  # too long, or the home of nobody
        raise OospecError(f"{name[:80]!r}: no such directory ({error})") from None
    if there:
        if not path.is_dir():
            raise OospecError(f"{name} is a file: name the directory that holds config.json and the weights")
        if gap := hub.missing(path):
            raise OospecError(f"{name} lacks {gap}: name a directory that transformers can load")
        return path.resolve(), "directory"
    if not name or name.startswith((".", "/", "~")):
        raise OospecError(f"{name!r}: no such directory; name one that holds config.json, the weights and a tokenizer")

    package = packaged.find(name)
    full, models = package.name if package else name, cache_dir() / "models"
    if (package is None or package.parts) and (found := hub.cached(full)) is not None:
        return found, "hub cache"
    if package and (found := packaged.converted(package, models)) is not None:
        return found, package.source
    try:
        if package and not package.parts:
            return packaged.obtain(package, models), package.source
        return hub.fetch(full), "hub"
    except hub.OutOfReach as error:
        if package is None or not package.parts:
            choices = ", ".join(each.name for each in packaged.PACKAGES)
            raise OospecError(f"{name}: {error}; name a directory, or one of {choices}, which need no hub") from error
        no_hub = error
    try:
        return packaged.obtain(package, models), package.source
    except OospecError as error:
        raise OospecError(f"{name}: {no_hub}, and {error}") from error
