"""Load a target or a sidecar from a local directory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import transformers

from oospec_async.errors import OospecError
from oospec_async.models.families import check_family

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


@dataclass(frozen=True)
class Loaded:
    model: Any  # a causal LM in evaluation mode
    tokenizer: Any


def load(path: Path, *, name: str, dtype: str, device: str, adapter: Path | None = None) -> Loaded:
    """Load a model onto a torch device, with a LoRA adapter merged into it where one is given.

    Raises OospecError for a family that is refused, a tokenizer that is not a fast one, a CUDA device that is not
    there, and an adapter that belongs to another base.
    """
    transformers.utils.logging.disable_progress_bar()
    try:
        config = transformers.AutoConfig.from_pretrained(path)
    except (OSError, ValueError, KeyError) as error:
        raise OospecError(f"{name}: config.json in {path} cannot be used: {_one_line(error)}") from None
    check_family(config, name)
    if device.startswith("cuda") and not _has_cuda(device):
        raise OospecError(f"device {device!r}: torch sees {torch.cuda.device_count()} CUDA devices here")
    try:
        model = transformers.AutoModelForCausalLM.from_pretrained(
            path, config=config, dtype=DTYPES[dtype], attn_implementation="sdpa", local_files_only=True
        )
        tokenizer = transformers.AutoTokenizer.from_pretrained(path, local_files_only=True)
    except (OSError, ValueError) as error:
        raise OospecError(f"{name}: {path} cannot be loaded: {_one_line(error)}") from None
    if not tokenizer.is_fast:
        raise OospecError(f"{name}: its tokenizer has no tokenizer.json; convert it to a fast tokenizer")
    if adapter is not None:
        model = _merge(model, adapter, name)
    return Loaded(model.to(device).eval(), tokenizer)


def _merge(model: Any, adapter: Path, name: str) -> Any:
    import peft

    try:
        base = peft.PeftConfig.from_pretrained(str(adapter)).base_model_name_or_path or ""
    except (OSError, ValueError, TypeError) as error:
        raise OospecError(f"adapter {adapter}: not a peft adapter: {_one_line(error)}") from None
    if Path(base).name.lower() not in ("", Path(name).name.lower()):
        raise OospecError(f"adapter {adapter}: it belongs to {base}, not to {name}; name that model with --sidecar")
    try:
        return peft.PeftModel.from_pretrained(model, str(adapter)).merge_and_unload()
    except (OSError, RuntimeError, ValueError) as error:
        raise OospecError(f"adapter {adapter}: does not fit {name}: {_one_line(error)}") from None


def _has_cuda(device: str) -> bool:
    index = int(device.partition(":")[2] or 0)
    return torch.cuda.is_available() and index < torch.cuda.device_count()


def _one_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
