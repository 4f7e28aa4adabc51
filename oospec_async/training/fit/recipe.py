"""Hyper-parameters of a sidecar's training, by name."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Recipe:
    """``batch``: requests per optimiser step; ``longest``: tokens of a packed request, longer ones are left out."""

    rank: int = 32
    alpha: int = 64
    dropout: float = 0.05
    epochs: int = 1
    batch: int = 4
    rate: float = 1e-4
    warmup: float = 0.05  # share of the steps
    longest: int = 2048
    clip: float = 1.0
    attention: str = "sdpa"


RECIPES = {
    # As published (OoO-Spec, training details): 32 rows a step, which are about four packed requests.
    "published": Recipe(),
    # SmolLM2-135M on a CPU: no dropout (a third of the time in bfloat16), eager attention (a quarter faster there).
    "smollm2-cpu": Recipe(dropout=0.0, batch=8, rate=6e-4, longest=1024, attention="eager"),
}
