"""The loss of packed requests: one forward for several, logits where answers are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch

from oospec_async.training.fit.pack import Packed

_AT_ONCE = 1600  # padded tokens in one forward: more is no faster, and needs memory


def groups(packed: Sequence[Packed]) -> Iterator[list[Packed]]:
    """Requests of similar length together, so that little is padded."""
    group: list[Packed] = []
    for each in sorted(packed, key=len):
        if group and (len(group) + 1) * len(each) > _AT_ONCE:
            yield group
            group = []
        group.append(each)
    if group:
        yield group


def weighted_loss(model: Any, group: Sequence[Packed]) -> torch.Tensor:
    """Sum of weighted cross-entropies over all answer tokens; logits are computed there only."""
    base = model.get_base_model()
    device, dtype = base.get_output_embeddings().weight.device, base.get_output_embeddings().weight.dtype
    length = max(map(len, group))
    tokens = torch.zeros(len(group), length, dtype=torch.long)
    positions = torch.zeros(len(group), length, dtype=torch.long)
    sees = torch.eye(length, dtype=torch.bool).repeat(len(group), 1, 1)  # padding sees itself: no row is empty
    for index, packed in enumerate(group):
        size = len(packed)
        tokens[index, :size] = torch.tensor(packed.tokens)
        positions[index, :size] = torch.from_numpy(packed.positions())
        sees[index, :size, :size] = torch.from_numpy(packed.sees())
    bias = torch.zeros(len(group), 1, length, length, dtype=dtype)
    bias.masked_fill_(~sees[:, None], torch.finfo(dtype).min)
    hidden = base.get_decoder()(
        input_ids=tokens.to(device), attention_mask=bias.to(device), position_ids=positions.to(device), use_cache=False
    ).last_hidden_state
    where = [(i, node) for i, p in enumerate(group) for node, target in enumerate(p.targets) if target >= 0]
    rows, nodes = (torch.tensor(each, device=device) for each in zip(*where, strict=True))
    logits = base.get_output_embeddings()(hidden[rows, nodes]).float()
    targets = torch.tensor([t for p in group for t in p.targets if t >= 0], device=device)
    weights = torch.tensor(
        [w for p in group for w, t in zip(p.weights, p.targets, strict=True) if t >= 0], device=device
    )
    return (torch.nn.functional.cross_entropy(logits, targets, reduction="none") * weights).sum()
