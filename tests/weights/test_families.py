"""Models whose state cannot be cut or masked are refused, by name and with the reason."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import transformers

from helpers import tiny
from oospec_async.errors import OospecError
from oospec_async.weights.families import FAMILIES, check_family


def test_every_family_that_is_accepted_is_tested_with_a_tiny_model() -> None:
    assert set(FAMILIES) == set(tiny.FAMILIES)
    for family in tiny.FAMILIES:
        check_family(tiny.random_model(family).config, "tiny")


REFUSED: dict[str, tuple[Any, str]] = {
    "gemma3": (lambda: transformers.Gemma3TextConfig(), r"gemma3_text.*sliding window of \d+"),
    "mamba": (lambda: transformers.MambaConfig(), "'mamba' has (recurrent or linear layers|not been shown)"),
    "qwen3_next": (lambda: transformers.Qwen3NextConfig(), "recurrent or linear layers .*linear_attention"),
    "lfm2": (
        lambda: transformers.Lfm2Config(num_hidden_layers=2, layer_types=["conv", "full_attention"]),
        "recurrent or linear layers .*conv",
    ),
    "gpt2": (lambda: transformers.GPT2Config(), "'gpt2' has not been shown"),
    "hybrid of its own": (
        lambda: SimpleNamespace(model_type="llama", layer_types=["full_attention", "mamba"]),
        "recurrent or linear layers .*mamba",
    ),
    "qwen2 with a window": (
        lambda: transformers.Qwen2Config(use_sliding_window=True, sliding_window=64, max_window_layers=1),
        "'qwen2' attends over a sliding window of 64",
    ),
    "dynamic rope": (
        lambda: transformers.LlamaConfig(rope_parameters={"rope_type": "dynamic", "factor": 2.0, "rope_theta": 1e4}),
        "rope type 'dynamic' moves",
    ),
    "longrope, older form": (
        lambda: SimpleNamespace(model_type="llama", rope_scaling={"type": "longrope"}),
        "rope type 'longrope' moves",
    ),
    "nothing known": (lambda: SimpleNamespace(), "'unknown' has not been shown"),
}


@pytest.mark.parametrize("config", REFUSED)
def test_a_model_that_cannot_be_decoded_by_trees_is_refused_with_its_reason(config: str) -> None:
    make, reason = REFUSED[config]
    with pytest.raises(OospecError, match=rf"^some/model: refused: .*{reason}.*llama, qwen2, qwen3$") as refused:
        check_family(make(), "some/model")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("kind", ["llama3", "yarn", "linear", "default"])
def test_rope_that_stays_where_it_is_is_accepted(kind: str) -> None:
    check_family(SimpleNamespace(model_type="llama", rope_parameters={"rope_type": kind}), "m")
