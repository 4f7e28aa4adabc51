"""Greedy choice exactly as ``transformers``' ``generate(do_sample=False)`` makes it, for every node of a tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from oospec_async.errors import OospecError

TOP_K = 8  # successors kept per node

# Settings of a generation config that change greedy output and are not applied here, with the value that is harmless.
_REFUSED: dict[str, Any] = {
    "num_beams": 1, "num_beam_groups": 1, "penalty_alpha": None, "dola_layers": None, "constraints": None,
    "force_words_ids": None, "no_repeat_ngram_size": 0, "encoder_no_repeat_ngram_size": 0,
    "encoder_repetition_penalty": 1.0, "bad_words_ids": None, "min_length": 0, "min_new_tokens": None,
    "forced_bos_token_id": None, "forced_eos_token_id": None, "remove_invalid_values": False,
    "exponential_decay_length_penalty": None, "begin_suppress_tokens": None, "sequence_bias": None,
    "guidance_scale": None, "watermarking_config": None, "stop_strings": None, "max_time": None, "token_healing": False,
}  # fmt: skip


def end_tokens(config: Any, name: str) -> frozenset[int]:
    """The tokens that end an output, by a generation config. Raises OospecError where they are no ids."""
    ends = config.eos_token_id
    ends = [] if ends is None else ends if isinstance(ends, list) else [ends]
    if not _are_ids(ends):
        raise OospecError(f"{name}: generation_config sets eos_token_id={ends!r}; ids are meant")
    return frozenset(ends)


def _are_ids(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, int) and item >= 0 for item in value)


@dataclass(frozen=True)
class Choice:
    """Per node: the greedy next token, the ``TOP_K`` best ones, and by how much the best beats the second (logits)."""

    predicted: list[int]
    successors: list[list[int]]
    margins: list[float]


@dataclass(frozen=True)
class GreedyRule:
    """What a checkpoint's generation config makes of logits under greedy decoding."""

    end_tokens: frozenset[int]
    repetition_penalty: float = 1.0
    suppressed: tuple[int, ...] = ()

    @classmethod
    def from_config(cls, config: Any, name: str) -> GreedyRule:
        """Read a generation config. Raises OospecError, naming the setting, for one that is not applied here."""
        for key, harmless in _REFUSED.items():
            value = getattr(config, key, None)
            if value is not None and value != harmless:
                raise OospecError(
                    f"{name}: generation_config sets {key}={value!r}, which greedy verification does not apply; "
                    f"remove it from generation_config.json if you can do without"
                )
        penalty = getattr(config, "repetition_penalty", None)
        penalty = 1.0 if penalty is None else penalty
        if not isinstance(penalty, (int, float)) or not penalty > 0:
            raise OospecError(f"{name}: generation_config sets repetition_penalty={penalty!r}; it must be above 0")
        suppressed = getattr(config, "suppress_tokens", None) or []
        if not _are_ids(suppressed):
            raise OospecError(f"{name}: generation_config sets suppress_tokens={suppressed!r}; a list of ids is meant")
        return cls(end_tokens(config, name), float(penalty), tuple(suppressed))

    def choose(self, logits: torch.Tensor, committed: Sequence[int], paths: Sequence[Sequence[int]]) -> Choice:
        """``logits`` [nodes, vocabulary]; ``committed``: prompt and output; ``paths``: each node's further tokens."""
        if self.repetition_penalty != 1.0 or self.suppressed:
            logits = self._process(logits.to(torch.float32, copy=True), committed, paths)
        values, indices = logits.topk(min(TOP_K, logits.shape[-1]), dim=-1)
        values = values.float()
        # Among equals argmax takes the lowest index, topk any; topk is twice as fast.
        equal = values == values[:, :1]
        best = indices.masked_fill(~equal, logits.shape[-1]).min(dim=-1).values
        unsure = equal.all(dim=-1) | ~equal[:, 0]  # more equals than topk shows, or NaN
        for row in unsure.nonzero().flatten().tolist():
            best[row] = logits[row].argmax()
        margins = (values[:, 0] - values[:, 1]).tolist() if values.shape[1] > 1 else [0.0] * len(values)
        predicted: list[int] = best.tolist()
        successors: list[list[int]] = indices.tolist()
        return Choice(predicted, successors, margins)

    def _process(self, scores: torch.Tensor, committed: Sequence[int], paths: Sequence[Sequence[int]]) -> torch.Tensor:
        if self.repetition_penalty != 1.0:
            base = set(committed)
            self._penalise(scores, (slice(None), torch.tensor(sorted(base), device=scores.device)))
            further = [(row, token) for row, path in enumerate(paths) for token in set(path) - base]
            if further:
                rows, tokens = torch.tensor(further, device=scores.device).T
                self._penalise(scores, (rows, tokens))
        if self.suppressed:
            scores[:, [token for token in self.suppressed if token < scores.shape[-1]]] = -torch.inf
        return scores

    def _penalise(self, scores: torch.Tensor, where: tuple[slice | torch.Tensor, torch.Tensor]) -> None:
        score = scores[where]
        scores[where] = torch.where(score < 0, score * self.repetition_penalty, score / self.repetition_penalty)
