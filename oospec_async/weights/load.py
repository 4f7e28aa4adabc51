"""Load a target or a sidecar from a local directory."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import transformers

from oospec_async.errors import OospecError
from oospec_async.weights.adapters import check_adapter
from oospec_async.weights.families import check_family
from oospec_async.weights.quiet import errors_only, no_bars

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


@dataclass(frozen=True)
class Loaded:
    model: Any  # a causal LM in evaluation mode
    tokenizer: Any


def load(path: Path, *, name: str, dtype: str, device: str, adapter: Path | None = None) -> Loaded:
    """Load a model onto a torch device, with a LoRA adapter merged into it where one is given.

    Raises OospecError for a family that is refused, a tokenizer that is not a fast one, a CUDA device that is not
    there, and an adapter whose shapes do not fit.
    """
    config = _tried(f"{name}: config.json in {path} cannot be used", transformers.AutoConfig.from_pretrained, path)
    check_family(config, name)
    if (context := config.max_position_embeddings) < 2:
        raise OospecError(f"{name}: a context of {context} tokens (max_position_embeddings) has no room for an output")
    check_device(device)
    what = f"{name}: {path} cannot be loaded (damaged files? fetch them again)"
    model, report = _tried(
        what,
        transformers.AutoModelForCausalLM.from_pretrained,
        path,
        config=config,
        dtype=DTYPES[dtype],
        attn_implementation="sdpa",
        local_files_only=True,
        ignore_mismatched_sizes=True,  # they are reported, by name, and refused below
        output_loading_info=True,
    )
    for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"):
        if odd := sorted(map(str, report.get(kind, ()))):
            raise OospecError(f"{name}: weights and config.json do not agree: {kind.replace('_', ' ')}: {odd[0]}")
    tokenizer = load_tokenizer(path, name)
    settings = path / "generation_config.json"
    if settings.exists():  # transformers goes on without a broken one, and would end outputs elsewhere
        _tried(f"{name}: {settings} cannot be used", transformers.GenerationConfig.from_pretrained, path)
    if adapter is not None:
        model = _merge(model, adapter, name)
    return Loaded(model.to(device).eval(), tokenizer)


def load_tokenizer(path: Path, name: str) -> Any:
    """Raises OospecError for one that is damaged or not a fast one."""
    what = f"{name}: the tokenizer in {path} cannot be loaded (damaged files? fetch them again)"
    tokenizer = _tried(what, transformers.AutoTokenizer.from_pretrained, path, local_files_only=True)
    if not tokenizer.is_fast:
        raise OospecError(f"{name}: its tokenizer has no tokenizer.json; convert it to a fast tokenizer")
    return tokenizer


def read_adapter_config(adapter: Path) -> Any:
    """The configuration of an adapter in peft format. Raises OospecError."""
    import peft

    check_adapter(adapter)
    return _tried(f"adapter {adapter}: not a peft adapter", peft.PeftConfig.from_pretrained, str(adapter))


@contextlib.contextmanager
def peft_warnings() -> Iterator[None]:
    """Silences what peft asks transformers for though it is deprecated; a lack of weights is an error."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".is_gradient_checkpointing. is deprecated", FutureWarning)
        warnings.filterwarnings("error", "Found missing adapter keys", UserWarning)
        yield


def _merge(model: Any, adapter: Path, name: str) -> Any:
    import peft

    def merged() -> Any:
        adapted = peft.PeftModel.from_pretrained(model, str(adapter))
        weights = peft.utils.load_peft_weights(str(adapter), device="cpu")
        if odd := peft.set_peft_model_state_dict(adapted, weights).unexpected_keys:  # peft itself goes on without them
            raise LookupError(f"it has no {odd[0]}")
        return adapted.merge_and_unload()

    read_adapter_config(adapter)
    with peft_warnings():
        return _tried(f"adapter {adapter}: does not fit {name}", merged)


def _tried(what: str, call: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Call a library that raises whatever it likes at broken files. Raises OospecError: ``what``, and why.

    What else it would say on stderr is left out: an error is one line.
    """
    with no_bars(), errors_only(transformers.utils.logging):
        try:
            return call(*arguments, **options)
        except Exception as error:
            reason = " ".join(str(error).split())[:300]
            raise OospecError(f"{what}: {type(error).__name__}: {reason}") from None


def check_device(device: str) -> None:
    """Raises OospecError for a CUDA device that is not there."""
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if device.startswith("cuda") and int(device.partition(":")[2] or 0) >= count:
        raise OospecError(f"device {device!r}: torch sees {count} CUDA devices here; name one of them, or cpu")
