"""The KV cache that a TreeModel owns, and the only code that touches the cache interface of ``transformers``."""

from __future__ import annotations

import inspect
from typing import Any

import torch
from transformers import Cache

_NAMES = ("cache", "past_key_values")  # the argument that takes a cache: transformers 5.24 renamed it


def cache_argument(body: torch.nn.Module) -> str:
    """The name under which the decoder's forward takes a cache."""
    parameters = inspect.signature(body.forward).parameters
    return next(name for name in _NAMES if name in parameters)


_FIRST_CAPACITY = 1024  # rows; doubled when full


class TreeCache(Cache):
    """One preallocated block of keys and values per layer, [1, heads, capacity, head_dim]; row r is position-free.

    ``length`` counts the rows in use. The model appends rows through ``update``; ``move`` and ``length`` let the owner
    compact and cut. No other method of the base class is relied upon.
    """

    def __init__(self, layers: int, max_rows: int) -> None:
        super().__init__(layers=[])
        self.length = 0  # rows that stay
        self._layers = layers
        self._max_rows = max_rows
        self._capacity = 0
        self._blocks: list[tuple[torch.Tensor, torch.Tensor]] = []

    def reserve(self, rows: int, keys: torch.Tensor) -> None:
        """Make room for ``rows`` rows in all, like ``keys`` ([1, heads, n, head_dim]) in shape, dtype and device."""
        if rows <= self._capacity:
            return
        capacity = min(max(_FIRST_CAPACITY, 2 * self._capacity, rows), max(self._max_rows, rows))
        grown = []
        for layer in range(self._layers):
            pair = tuple(keys.new_empty(1, keys.shape[1], capacity, keys.shape[3]) for _ in range(2))
            if self._blocks:
                for new, old in zip(pair, self._blocks[layer], strict=True):
                    new[:, :, : self.length] = old[:, :, : self.length]
            grown.append((pair[0], pair[1]))
        self._blocks, self._capacity = grown, capacity

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, layer_idx: int, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Called by each attention layer: append this forward's rows, return all rows."""
        end = self.length + key_states.shape[2]
        if layer_idx == 0:
            self.reserve(end, key_states)
        keys, values = self._blocks[layer_idx]
        keys[:, :, self.length : end] = key_states
        values[:, :, self.length : end] = value_states
        return keys[:, :, :end], values[:, :, :end]

    def release(self) -> None:
        """Drop all rows and the blocks that hold them."""
        self.length, self._capacity, self._blocks = 0, 0, []

    def move(self, rows: list[int], to: int) -> None:
        """Copy ``rows`` to ``to``, ``to + 1``, …; rows are increasing and never before their destination."""
        index: torch.Tensor | None = None
        for keys, values in self._blocks:
            if index is None:
                index = torch.tensor(rows, device=keys.device)
            keys[:, :, to : to + len(rows)] = keys[:, :, index]
            values[:, :, to : to + len(rows)] = values[:, :, index]

    def get_seq_length(self, layer_idx: int = 0, *args: Any) -> int:
        return self.length

    def get_mask_sizes(self, query_length: int, layer_idx: int = 0) -> tuple[int, int]:
        return self.length + int(query_length), 0
