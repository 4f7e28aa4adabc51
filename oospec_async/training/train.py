"""LoRA training of a sidecar on packed requests, with checkpoints to go on from."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import peft
import torch

from oospec_async.decoding.text import Codec
from oospec_async.errors import OospecError
from oospec_async.request import parse_request
from oospec_async.training.checkpoint import Checkpoint, save_adapter
from oospec_async.training.pack import Packed, pack, sampled
from oospec_async.training.readers.base import Row
from oospec_async.training.recipe import Recipe

_AT_ONCE = 1600  # padded tokens in one forward: more is no faster, and needs memory
_DEV_REQUESTS = 64
_DEV_EVERY = 40  # steps
_PATIENCE = 5  # evaluations without a better one


@dataclass(frozen=True)
class TrainOptions:
    recipe: Recipe
    seed: int
    out: Path  # directory of the adapter
    budget: float | None = None  # minutes; the schedule ends where they do
    begin: Path | None = None  # an adapter to begin with; default: a new one


@dataclass(frozen=True)
class Report:
    """After a step: ``step`` of about ``steps``, the loss of its batch, and of the development split if measured."""

    step: int
    steps: int
    loss: float
    dev_loss: float | None
    tokens: int  # trained on so far
    left_out: int


class Trainer:
    """Trains the adapter of ``model`` (a causal LM). Iterate ``run``; a stop between steps loses nothing saved."""

    def __init__(self, model: Any, codec: Codec, rows: Sequence[Row], options: TrainOptions) -> None:
        recipe = options.recipe
        self._options, self._codec = options, codec
        self._train = [row for row in rows if row.data["split"] == "train"]
        self._dev = [row for row in rows if row.data["split"] == "dev"][:_DEV_REQUESTS]
        if not self._train:
            raise OospecError("no request of the rows is of the split 'train'; make more rows")
        torch.manual_seed(options.seed)
        model.set_attn_implementation(recipe.attention)
        self.model = _with_adapter(model, options)
        self._weights = [p for p in self.model.parameters() if p.requires_grad]
        self._masters = [p.detach().float().clone() for p in self._weights]
        self._optimiser = torch.optim.AdamW(self._masters, lr=recipe.rate, weight_decay=0.0)
        self._steps = recipe.epochs * math.ceil(len(self._train) / recipe.batch)
        self._step = self._tokens = self._left_out = 0
        self._spent = 0.0  # seconds of earlier runs
        self._best = math.inf
        self._worse = 0
        self._checkpoint = Checkpoint(options.out)

    def resume(self) -> int:
        """Go on from the last checkpoint if there is one; returns its step. Raises OospecError if it does not fit."""
        state = self._checkpoint.load()
        if state is None:
            return 0
        self._checkpoint.check(state, self._identity())
        for master, saved in zip(self._masters, state["masters"], strict=True):
            master.copy_(saved)
        self._optimiser.load_state_dict(state["optimiser"])
        self._step, self._tokens, self._left_out = state["step"], state["tokens"], state["left_out"]
        self._spent, self._best, self._worse = state["spent"], state["best"], state["worse"]
        torch.set_rng_state(state["random"])
        self._publish_masters()
        return self._step

    def run(self) -> Iterator[Report]:
        """One optimiser step an iteration; ends at the last step, the budget's end, or an early stop."""
        started = time.monotonic()
        self.model.train()
        for batch in self._batches():
            spent = self._spent + time.monotonic() - started
            progress = self._progress(spent)
            if progress >= 1.0 or self._worse >= _PATIENCE:
                break
            loss = self._optimise(batch, progress)
            self._step += 1
            dev_loss = self._measure() if self._step % _DEV_EVERY == 0 else None
            yield Report(self._step, self._steps, loss, dev_loss, self._tokens, self._left_out)
            if dev_loss is not None:
                self._save(self._spent + time.monotonic() - started)
        dev_loss = self._measure()
        self._save(self._spent + time.monotonic() - started)
        yield Report(self._step, self._steps, math.nan, dev_loss, self._tokens, self._left_out)

    def _batches(self) -> Iterator[list[Row]]:
        """Requests in a seeded order, anew for each epoch; those before the current step are skipped."""
        size, step = self._options.recipe.batch, 0
        for epoch in range(self._options.recipe.epochs):
            order = list(self._train)
            random.Random(f"{self._options.seed} {epoch}").shuffle(order)
            for first in range(0, len(order), size):
                if step >= self._step:
                    yield order[first : first + size]
                step += 1

    def _progress(self, spent: float) -> float:
        """Share of the schedule that is over: of the steps, or of the budget where that ends sooner."""
        budget = self._options.budget
        share = self._step / self._steps
        return share if budget is None else max(share, spent / 60 / budget)

    def _optimise(self, batch: Sequence[Row], progress: float) -> float:
        rng = random.Random(f"{self._options.seed} step {self._step}")
        packed = [made for row in batch if (made := self._packed(row, rng)) is not None]
        total = sum(sum(p.weights) for p in packed)
        loss = 0.0
        for group in groups(packed):
            part = weighted_loss(self.model, group) / total
            part.backward()
            loss += float(part.detach())
        self._tokens += sum(map(len, packed))
        recipe = self._options.recipe
        for master, weight in zip(self._masters, self._weights, strict=True):
            master.grad = None if weight.grad is None else weight.grad.float()
            weight.grad = None
        torch.nn.utils.clip_grad_norm_(self._masters, recipe.clip)
        warm = min(1.0, (self._step + 1) / max(1.0, recipe.warmup * self._steps))
        for group_ in self._optimiser.param_groups:
            group_["lr"] = recipe.rate * warm * 0.5 * (1 + math.cos(math.pi * progress))
        self._optimiser.step()
        self._publish_masters()
        return loss

    def _packed(self, row: Row, rng: random.Random | None) -> Packed | None:
        """A request's rows, sampled anew each time; None (counted) for one that is too long."""
        rows = row.data["rows"]
        chosen = [r for r in rows if r["chosen"] and r["kind"] != "call"] if rng is None else sampled(row.data, rng)
        packed = pack(parse_request(row.data["request"], row.where), chosen, self._codec)
        if len(packed) > self._options.recipe.longest or not any(packed.weights):
            self._left_out += rng is not None
            return None
        return packed

    @torch.no_grad()
    def _measure(self) -> float | None:
        """Mean loss over the development split (what waves ask, nothing sampled); remembers the best adapter."""
        packed = [made for row in self._dev if (made := self._packed(row, None)) is not None]
        if not packed:
            return None
        self.model.eval()
        total = sum(float(weighted_loss(self.model, group)) for group in groups(packed))
        self.model.train()
        loss = total / sum(sum(p.weights) for p in packed)
        self._worse = 0 if loss < self._best else self._worse + 1
        if loss < self._best:
            self._best = loss
            save_adapter(self.model, self._options.out)
        return loss

    def _save(self, spent: float) -> None:
        if not self._dev:
            save_adapter(self.model, self._options.out)
        self._checkpoint.save(
            {
                "identity": self._identity(),
                "masters": self._masters,
                "optimiser": self._optimiser.state_dict(),
                "step": self._step,
                "tokens": self._tokens,
                "left_out": self._left_out,
                "spent": spent,
                "best": self._best,
                "worse": self._worse,
                "random": torch.get_rng_state(),
            }
        )

    def _identity(self) -> str:
        """What a checkpoint must have been made with to be gone on from."""
        return repr((self._options.recipe, self._options.seed, [row.data["id"] for row in self._train]))

    @torch.no_grad()
    def _publish_masters(self) -> None:
        for master, weight in zip(self._masters, self._weights, strict=True):
            weight.copy_(master)


def _with_adapter(model: Any, options: TrainOptions) -> Any:
    """Computing in the model's dtype is much faster on a CPU; what the optimiser adds up is float32."""
    if options.begin is not None:
        return peft.PeftModel.from_pretrained(
            model, str(options.begin), is_trainable=True, autocast_adapter_dtype=False
        )
    recipe = options.recipe
    config = peft.LoraConfig(
        r=recipe.rank, lora_alpha=recipe.alpha, lora_dropout=recipe.dropout, target_modules="all-linear",
        task_type="CAUSAL_LM",
    )  # fmt: skip
    return peft.get_peft_model(model, config, autocast_adapter_dtype=False)


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
