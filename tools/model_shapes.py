"""Sizes of real models, for models of random weights whose forwards take as long as theirs, and for rooflines."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Shape:
    """Sizes of a dense decoder of the Qwen3 family."""

    name: str
    layers: int
    hidden: int
    intermediate: int
    heads: int
    kv_heads: int
    head_dim: int
    vocabulary: int
    tied: bool


TINY = Shape("tiny", 2, 64, 128, 4, 2, 16, 512, True)
_ALL = (
    Shape("Qwen3-0.6B", 28, 1024, 3072, 16, 8, 128, 151936, True),
    Shape("Qwen3-4B", 36, 2560, 9728, 32, 8, 128, 151936, True),
    Shape("Qwen3-14B", 40, 5120, 17408, 40, 8, 128, 151936, False),
    Shape("Qwen3-8B", 36, 4096, 12288, 32, 8, 128, 151936, False),
    Shape("Qwen3-32B", 64, 5120, 25600, 64, 8, 128, 151936, False),
)
SHAPES = {shape.name: shape for shape in _ALL}
