"""Which models can be decoded by trees, and why others are refused."""

from __future__ import annotations

from typing import Any

from oospec_async.errors import OospecError

# Dense decoders whose whole state is a KV cache that can be masked and cut. Adding a family is one line here, once
# tests/target/test_tree_model.py passes with a tiny model of it.
FAMILIES = ("llama", "qwen2", "qwen3")

# Rope types whose angles depend on how long the sequence is: cached keys would go stale.
_MOVING_ROPE = ("dynamic", "longrope")


def check_family(config: Any, name: str) -> None:
    """Raises OospecError, naming the model and the reason, unless its cache can be rolled back and masked."""
    reason = _reason(config)
    if reason is not None:
        raise OospecError(f"{name}: refused: {reason}; models of these families can be used: {', '.join(FAMILIES)}")


def _reason(config: Any) -> str | None:
    family = getattr(config, "model_type", "unknown")
    layers = getattr(config, "layer_types", None) or []
    odd = sorted({layer for layer in layers if layer not in ("full_attention", "sliding_attention")})
    if odd:
        return f"family {family!r} has recurrent or linear layers ({', '.join(odd)}), whose state cannot be rolled back"
    if "sliding_attention" in layers:
        window = getattr(config, "sliding_window", None)
        return f"family {family!r} attends over a sliding window of {window} tokens, which a draft tree would cross"
    if family not in FAMILIES:
        return f"family {family!r} has not been shown to be lossless here"
    rope = getattr(config, "rope_parameters", None) or getattr(config, "rope_scaling", None) or {}
    kind = rope.get("rope_type", rope.get("type", "default")) if isinstance(rope, dict) else "default"
    if kind in _MOVING_ROPE:
        return f"rope type {kind!r} moves the positions that are cached already"
    return None
