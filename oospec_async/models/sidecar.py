"""Load a sidecar: the model, its adapter, and what its waves share."""

from __future__ import annotations

from pathlib import Path

from oospec_async.models.codec import TokenizerCodec
from oospec_async.models.greedy import end_tokens
from oospec_async.models.guide import Guide
from oospec_async.models.load import load
from oospec_async.models.tree_model import TreeModel
from oospec_async.models.wave import Sidecar
from oospec_async.wave.questions import EXAMPLE


def load_sidecar(path: Path, name: str, dtype: str, device: str, adapter: Path | None) -> Sidecar:
    """``device``: torch's name of it. Without an adapter the model sees an example first, and names one call only: it
    has not learnt to count them. Raises OospecError.
    """
    loaded = load(path, name=name, dtype=dtype, device=device, adapter=adapter)
    model, codec = TreeModel(loaded.model), TokenizerCodec(loaded.tokenizer)
    ends = end_tokens(loaded.model.generation_config, name)
    guide = Guide(codec, model.vocabulary, device)
    if adapter is None:
        return Sidecar(model, codec, guide, ends, EXAMPLE, most_calls=1)
    return Sidecar(model, codec, guide, ends)
