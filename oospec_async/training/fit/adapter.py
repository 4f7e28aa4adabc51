"""The LoRA adapter that is trained: a new one or one that was begun, and its files in peft format."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import peft
import safetensors.torch

from oospec_async.errors import OospecError
from oospec_async.files.writing import write_atomically
from oospec_async.request import Json
from oospec_async.training.fit.recipe import Recipe
from oospec_async.weights.load import peft_warnings, read_adapter_config

WEIGHTS, CONFIG = "adapter_model.safetensors", "adapter_config.json"

# What two adapters must share for the weights of one to mean the same in the other. Dropout may differ.
_SHAPE = ("peft_type", "r", "lora_alpha", "rank_pattern", "alpha_pattern", "use_rslora", "use_dora", "bias")


def adapted(model: Any, recipe: Recipe, begin: Path | None = None) -> Any:
    """The model with the recipe's adapter around it: that of ``begin``, or a new one, which changes no output yet.

    Raises OospecError for an adapter to begin with that does not fit the model, or is not of the recipe's shape.
    """
    if begin is not None:
        check_begin(begin, recipe)
    with peft_warnings():
        # Computing in the model's dtype is much faster on a CPU; what the optimiser adds up is float32.
        made = peft.get_peft_model(model, _config(recipe), autocast_adapter_dtype=False)
    if begin is not None:
        _load(made, begin)
    return made


def check_begin(begin: Path, recipe: Recipe) -> None:
    """Raises OospecError for an adapter to begin with that is of another shape, as its configuration says."""
    found, own = read_adapter_config(begin), _config(recipe)
    for name in _SHAPE:
        if getattr(found, name, None) != getattr(own, name):
            raise _unlike(begin, name, getattr(found, name, None), getattr(own, name))


def _config(recipe: Recipe) -> Any:
    return peft.LoraConfig(
        r=recipe.rank, lora_alpha=recipe.alpha, lora_dropout=recipe.dropout, target_modules="all-linear",
        task_type="CAUSAL_LM",
    )  # fmt: skip


def _load(model: Any, begin: Path) -> None:
    try:
        weights = peft.utils.load_peft_weights(str(begin), device="cpu")
        result = peft.set_peft_model_state_dict(model, weights)
    except Exception as error:  # whatever a library says of files that are damaged
        reason = " ".join(str(error).split())[:200]
        raise OospecError(f"--begin {begin}: its weights cannot be used: {type(error).__name__}: {reason}") from None
    if odd := [*result.unexpected_keys, *(key for key in result.missing_keys if "lora_" in key)]:
        raise OospecError(
            f"--begin {begin}: it is not on all linear layers of the base and on them alone: see {odd[0]}"
        )


def _unlike(begin: Path, name: str, said: object, wanted: object) -> OospecError:
    return OospecError(
        f"--begin {begin}: {CONFIG}: {name} is {said}, and the recipe has {wanted}; "
        "name the recipe that it was trained with"
    )


def save_adapter(model: Any, directory: Path) -> None:
    """Write the adapter in peft format; the same adapter gives the same bytes. Raises OospecError.

    A reader finds the adapter before, or this one, or (between two that differ in shape) none: never weights beside a
    configuration that is not theirs.
    """
    weights = peft.get_peft_model_state_dict(model, save_embedding_layers=False)
    config = f"{json.dumps(_as_json(model.peft_config['default'].to_dict()), indent=2, sort_keys=True)}\n".encode()
    path = directory / CONFIG
    try:
        if path.exists() and path.read_bytes() != config:
            path.unlink()
    except OSError as error:
        raise OospecError(f"adapter {path}: cannot be replaced: {error.strerror}") from None
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in weights.items()}
    write_atomically(directory / WEIGHTS, safetensors.torch.save(tensors, {"format": "pt"}), "adapter")
    write_atomically(path, config, "adapter")


def _as_json(config: Mapping[str, Any]) -> Mapping[str, Json]:
    """As peft reads it back; sets in order, so that the file is the same in every process."""
    plain = {key: sorted(value) if isinstance(value, set) else value for key, value in config.items()}
    return {**plain, "inference_mode": True}
