"""Model files from the Hugging Face hub, or from what it has already put on this disk."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from oospec_async.errors import OospecError
from oospec_async.weights.places import hub_cache
from oospec_async.weights.quiet import errors_only
from oospec_async.weights.troubles import known_trouble, words_of

_TIMEOUT = 4.0  # seconds until a hub that does not answer counts as out of reach
_TOKENIZER = ("tokenizer.json", "tokenizer.model", "vocab.json")
_WEIGHTS = {"model.safetensors": "model*.safetensors", "pytorch_model.bin": "pytorch_model*.bin"}  # whole: with shards
_INDEX = ".index.json"
_EXTRA = "install the live extra: pip install '.[live]'"


class OutOfReach(Exception):
    """The hub did not give the model; the message is the reason, as half a sentence."""


def weight_files(folder: Path) -> list[Path]:
    """The weight files that `transformers` would load from `folder`, sorted; none at all if one is missing."""
    for name in _WEIGHTS:
        if (folder / name).is_file():
            return [folder / name]
        try:
            shards = set(json.loads((folder / (name + _INDEX)).read_text())["weight_map"].values())
            files = sorted(folder / shard for shard in shards)
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            continue
        if files and all(file.is_file() for file in files):
            return files
    return []


def missing(folder: Path) -> str | None:
    """What `folder` lacks to be a model, or None."""
    if not (folder / "config.json").is_file():
        return "config.json"
    if not weight_files(folder):
        return "weights (model.safetensors or all the shards that its index names)"
    if not any((folder / name).is_file() for name in _TOKENIZER):
        return "a tokenizer (tokenizer.json)"
    return None


def cached(name: str) -> Path | None:
    """The model's snapshot in the local hub cache, if it is whole. Touches no network.

    Judged by the files that a model needs, not by the hub's own listing: other tools may have fetched only those.
    """
    try:
        from huggingface_hub import try_to_load_from_cache
        from huggingface_hub.errors import HFValidationError
    except ImportError as error:
        raise OospecError(f"huggingface_hub is missing: {_EXTRA}") from error
    try:
        config = try_to_load_from_cache(name, "config.json", cache_dir=hub_cache())
    except HFValidationError as error:
        raise OospecError(f"{name!r} is neither a directory nor a Hugging Face id") from error
    if not isinstance(config, str):
        return None
    folder = Path(config).parent
    return None if missing(folder) else folder


def fetch(name: str) -> Path:
    """Download the model from the hub into the hub's own cache.

    Raises OutOfReach when the hub does not answer or does not have it; OospecError when it refuses by licence, or has
    no weights that can be loaded.
    """
    from huggingface_hub import HfApi, snapshot_download

    with _reasons(name):
        files = {file.rfilename for file in HfApi().model_info(name, timeout=_TIMEOUT).siblings or []}
        # One form of the weights, and none of the copies for other tools that lie in subfolders.
        weights = next((shards for whole, shards in _WEIGHTS.items() if {whole, whole + _INDEX} & files), "*")
        if weights == "*" and files:
            raise OospecError(f"{name}: {_no_weights(name, files)}")
        wanted = ["*.json", "*.jinja", "*.txt", "*.model", weights]
        folder = snapshot_download(name, cache_dir=hub_cache(), allow_patterns=wanted, ignore_patterns=["*/*"])
    if gap := missing(Path(folder)):
        raise OospecError(f"{name}: the hub's copy lacks {gap}")
    return Path(folder)


def fetch_file(name: str) -> Path:
    """Likewise one file, ``ORGANISATION/REPOSITORY/FILE``."""
    from huggingface_hub import hf_hub_download

    repository, _, file = name.rpartition("/")
    with _reasons(name):
        return Path(hf_hub_download(repository, file, cache_dir=hub_cache()))


@contextmanager
def _reasons(name: str) -> Iterator[None]:
    """Whatever a download raises becomes OutOfReach, or OospecError where the hub is in reach."""
    from huggingface_hub.errors import GatedRepoError, RemoteEntryNotFoundError, RepositoryNotFoundError
    from huggingface_hub.utils import logging

    try:
        with errors_only(logging):
            yield
    except OospecError:
        raise
    except GatedRepoError as error:
        raise OospecError(
            f"{name}: its licence must be accepted on the hub first, then log in: hf auth login"
        ) from error
    except RepositoryNotFoundError as error:
        raise OutOfReach("the hub has no such model, or keeps it private") from error
    except RemoteEntryNotFoundError as error:
        raise OutOfReach("its repository has no such file") from error
    except Exception as error:  # which kinds there are depends on the HTTP library that huggingface_hub was built on
        known = known_trouble(words_of(error), hub_cache(), "HF_HOME", "SSL_CERT_FILE")
        if known is not None:
            raise OutOfReach(f"fetching it from the hub failed: {known}") from error
        raise OutOfReach(f"the hub cannot be reached ({type(error).__name__})") from error


def _no_weights(name: str, files: set[str]) -> str:
    """Why nothing is fetched of a repository that has these files."""
    lacks = f"the hub's copy has none of {', '.join(_WEIGHTS)}"
    if not (packed := sorted(file for file in files if file.endswith(".gguf"))):
        return lacks
    return f"{lacks}, only GGUF files, none of which was fetched: {', '.join(packed)}; name one: {name}/{packed[0]}"
