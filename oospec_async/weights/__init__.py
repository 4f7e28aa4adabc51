"""Weights: found, fetched, converted and loaded."""

from __future__ import annotations

DEFAULT_TARGET = "Qwen/Qwen2.5-Coder-0.5B-Instruct"
DEFAULT_SIDECAR = "HuggingFaceTB/SmolLM2-135M-Instruct"
