"""The one primitive: append tokens, each with a parent, to a KV cache; get logits for each."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from oospec_async.errors import OospecError
from oospec_async.target.cache import TreeCache, cache_argument

_BESIDE = 64  # rows beyond the context: near its end a tree may be wide, though none of its paths crosses it


@dataclass(frozen=True)
class Logits:
    """``rows``: [wanted, vocabulary], in the model's dtype; ``state``: [hidden], of the last appended token."""

    rows: torch.Tensor
    state: torch.Tensor


class TreeModel:
    """A causal LM whose cache holds a trunk (a chain) and, after it, a tree of rows that branch off the trunk's end.

    A row is a cache index. The trunk is rows ``0 … trunk - 1``; rows from ``trunk`` on are tree rows. ``extend`` adds
    tree rows, ``keep`` moves a path of them into the trunk and drops the rest, ``truncate`` cuts the trunk. ``read``
    begins anew with a prompt.
    """

    def __init__(self, model: Any) -> None:
        """``model``: a causal LM of a supported family."""
        self.context: int = int(model.config.max_position_embeddings)
        self.vocabulary: int = int(model.get_output_embeddings().weight.shape[0])
        self.trunk = 0
        self._tokens: list[int] = []  # of each row
        self.model = model
        self._body = model.get_decoder()
        self._head = model.get_output_embeddings()
        self._device: torch.device = self._head.weight.device
        self._cache = TreeCache(int(model.config.num_hidden_layers), self.context + _BESIDE)
        self._cache_name = cache_argument(self._body)
        self._depths = np.zeros(0, dtype=np.int64)  # of each tree row; the first after the trunk has depth 1
        self._sees: np.ndarray | None = None  # tree row x tree row: ancestors and itself; None: the rows are a chain

    @property
    def rows(self) -> int:
        """Rows in use, trunk and tree."""
        return self.trunk + len(self._depths)

    def read(self, prompt: Sequence[int], *, reuse: bool) -> tuple[Logits, int]:
        """Make ``prompt`` the trunk; logits are its last token's. With ``reuse``, rows of a common beginning stay.

        Returns also how many stayed. Raises OospecError as ``extend`` does.
        """
        shared = _common(self._tokens[: self.trunk], prompt[:-1]) if reuse else 0
        self.truncate(shared)
        new = len(prompt) - shared
        logits = self.extend(prompt[shared:], range(shared - 1, len(prompt) - 1), wanted=[new - 1])
        self.keep(range(shared, len(prompt)))
        return logits, shared

    @torch.inference_mode()
    def extend(self, tokens: Sequence[int], parents: Sequence[int], wanted: Sequence[int] | None = None) -> Logits:
        """Append ``tokens`` in one forward; token i becomes row ``rows + i`` and follows row ``parents[i]``.

        A parent is a tree row (one of this call's too, if it comes earlier) or the end of the trunk: row ``trunk - 1``.
        ``wanted``: which of the new tokens to compute logits for (indices into ``tokens``), default all.

        Raises OospecError if a path would exceed the context, IndexError for a parent that cannot be one.
        """
        depths, first = self._grow_depths(parents), len(self._depths)
        longest = self.trunk + int(depths.max(initial=0))
        if longest > self.context:
            raise OospecError(f"{longest} tokens exceed the model's context of {self.context}; shorten the prompt")
        sees = self._grow_sees(parents)
        positions = torch.from_numpy(self.trunk - 1 + depths[first:])[None].to(self._device)
        hidden = self._body(
            input_ids=torch.tensor([list(tokens)], device=self._device),
            attention_mask=self._mask(sees, len(tokens)),
            position_ids=positions,
            use_cache=True,
            **{self._cache_name: self._cache},
        ).last_hidden_state[0]
        self._cache.length += len(tokens)
        self._tokens += tokens
        self._depths, self._sees = depths, sees
        picked = hidden if wanted is None else hidden[list(wanted)]
        return Logits(self._head(picked), hidden[-1])

    @torch.inference_mode()
    def keep(self, path: Sequence[int]) -> None:
        """Make ``path`` (tree rows, each the parent of the next, the first a child of the trunk) part of the trunk."""
        if list(path) != list(range(self.trunk, self.trunk + len(path))):
            self._cache.move(list(path), self.trunk)
        self._tokens[self.trunk :] = [self._tokens[row] for row in path]
        self.truncate(self.trunk + len(path))

    def truncate(self, rows: int) -> None:
        """Keep the first ``rows`` rows as the trunk and drop all others."""
        if not 0 <= rows <= self.rows:
            raise IndexError(f"cannot keep {rows} of {self.rows} rows")
        self.trunk = self._cache.length = rows
        del self._tokens[rows:]
        self._depths, self._sees = self._depths[:0], None

    def release(self) -> None:
        """Drop all rows and the memory of the cache: what comes next begins anew."""
        self.truncate(0)
        self._cache.release()

    @contextlib.contextmanager
    def released_on_failure(self) -> Iterator[None]:
        """Around a forward: one that raises leaves no cache behind."""
        try:
            yield
        except Exception:
            self.release()
            raise

    def _grow_depths(self, parents: Sequence[int]) -> np.ndarray:
        """Depths of all tree rows, with rows for ``parents`` added."""
        depths = [*self._depths.tolist()]
        for parent in parents:
            above = parent - self.trunk
            if not -1 <= above < len(depths):
                raise IndexError(f"row {parent} cannot be a parent: the trunk ends at {self.trunk - 1}")
            depths.append(depths[above] + 1 if above >= 0 else 1)
        return np.array(depths, dtype=np.int64)

    def _grow_sees(self, parents: Sequence[int]) -> np.ndarray | None:
        """The ancestor matrix of all tree rows, with rows for ``parents`` added; None if they are a chain."""
        old, new = len(self._depths), len(parents)
        chain = all(parents[i] == self.rows + i - 1 for i in range(1, new))
        if chain and self._sees is None and parents[0] == self.rows - 1:
            return None
        sees = np.zeros((old + new, old + new), dtype=bool)
        sees[:old, :old] = np.tri(old, dtype=bool) if self._sees is None else self._sees
        if chain:  # no loop over its rows
            sees[old:, old:] = np.tri(new, dtype=bool)
        for row, parent in enumerate(parents[:1] if chain else parents, start=old):
            above = parent - self.trunk
            if above >= 0:
                sees[row, :row] = sees[above, :row]
            sees[row, row] = True
        if chain:
            sees[old:, :old] = sees[old, :old]
        return sees

    def _mask(self, sees: np.ndarray | None, new: int) -> torch.Tensor | None:
        """The 4-D mask for new rows; None where plain causal attention is the same, which has faster kernels."""
        if sees is None:
            old = len(self._depths)
            if self.trunk + old == 0 or new == 1:
                return None
            sees = np.tri(old + new, dtype=bool)
        sees = sees[-new:]
        bias = torch.zeros(1, 1, new, self.trunk + sees.shape[1], dtype=self._head.weight.dtype, device=self._device)
        hidden = torch.from_numpy(~sees).to(self._device)
        bias[0, 0, :, self.trunk :].masked_fill_(hidden, torch.finfo(bias.dtype).min)
        return bias


def _common(a: Sequence[int], b: Sequence[int]) -> int:
    """How many tokens two sequences begin with alike."""
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
