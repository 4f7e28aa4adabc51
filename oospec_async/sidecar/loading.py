"""Load a sidecar: the model, its adapter, and what its waves share."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from oospec_async.sidecar.questions import EXAMPLE
from oospec_async.sidecar.value_masks import ValueMasks
from oospec_async.sidecar.wave import Sidecar
from oospec_async.target.codec import TokenizerCodec
from oospec_async.target.greedy import end_tokens
from oospec_async.target.tree_model import TreeModel
from oospec_async.weights.load import load

# A CPU takes time for every token: SmolLM2-135M on one core of an EPYC 56 ms a forward and 1.8 ms a token of it, so
# that the questions of functions that are then not called soon cost more than the forward that they save.
_EARLY_SLOTS_ON_CPU = 8


def load_sidecar(path: Path, name: str, dtype: str, device: str, adapter: Path | None) -> Sidecar:
    """``device``: torch's name of it. Without an adapter the model sees an example first, and names one call only: it
    has not learnt to count them. Raises OospecError.
    """
    loaded = load(path, name=name, dtype=dtype, device=device, adapter=adapter)
    model, codec = TreeModel(loaded.model), TokenizerCodec(loaded.tokenizer)
    ends = end_tokens(loaded.model.generation_config, name)
    masks = ValueMasks(codec, model.vocabulary, device)
    sidecar = Sidecar(model, codec, masks, ends)
    if adapter is None:
        sidecar = replace(sidecar, example=EXAMPLE, most_calls=1)
    return replace(sidecar, early_slots=_EARLY_SLOTS_ON_CPU) if device == "cpu" else sidecar
