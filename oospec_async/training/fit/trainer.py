"""LoRA training of a sidecar on packed requests, with checkpoints to go on from."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import torch

from oospec_async.decoding.text import Codec
from oospec_async.errors import OospecError
from oospec_async.training.data.training_rows import TrainingRow
from oospec_async.training.fit.adapter import adapted, save_adapter
from oospec_async.training.fit.checkpoint import Checkpoint
from oospec_async.training.fit.feed import Feed
from oospec_async.training.fit.loss import groups, weighted_loss
from oospec_async.training.fit.pack import Packed
from oospec_async.training.fit.recipe import Recipe

_DEV_EVERY = 40  # steps
_PATIENCE = 5  # evaluations without a better one


@dataclass(frozen=True)
class TrainOptions:
    """``made_of``: what else the result depends on, by name; a run is gone on with only where it is the same."""

    recipe: Recipe
    seed: int
    out: Path  # directory of the adapter
    budget: float | None = None  # minutes; the schedule ends where they do
    begin: Path | None = None  # an adapter to begin with; default: a new one
    made_of: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Report:
    """After a step: ``step`` of about ``steps``, the loss of its batch, and of the development split if measured.

    What was measured is on disk when it is reported. The last report of a run has no loss of a batch (NaN).
    """

    step: int
    steps: int
    loss: float
    dev_loss: float | None
    tokens: int  # trained on so far
    left_out: int


@dataclass
class _Run:
    """How far a run has come: what its checkpoint holds beside the weights."""

    step: int = 0
    tokens: int = 0
    left_out: int = 0
    best: float = math.inf
    worse: int = 0  # measurements since the best one
    history: list[tuple[int, float]] = field(default_factory=list)  # development losses by step, of earlier runs too


class Trainer:
    """Trains the adapter of ``model`` (a causal LM). Iterate ``run``; a stop between steps loses nothing saved."""

    def __init__(self, model: Any, codec: Codec, rows: Sequence[TrainingRow], options: TrainOptions) -> None:
        """Raises OospecError if there is nothing to train on, and for an adapter that cannot be begun with."""
        recipe = options.recipe
        self._options = options
        self._feed = Feed(rows, codec, recipe, options.seed)
        torch.manual_seed(options.seed)
        model.set_attn_implementation(recipe.attention)
        self.model = adapted(model, recipe, options.begin)
        self._weights = [p for p in self.model.parameters() if p.requires_grad]
        self._masters = [p.detach().float().clone() for p in self._weights]
        self._optimiser = torch.optim.AdamW(self._masters, lr=recipe.rate, weight_decay=0.0)
        self._checkpoint = Checkpoint(options.out)
        self._now = _Run()
        self._begun = time.monotonic()  # or when it would have begun, had it never been stopped

    @property
    def history(self) -> list[tuple[int, float]]:
        """Development losses by step."""
        return self._now.history

    def resume(self) -> int:
        """Go on from the last checkpoint if there is one; returns its step. Raises OospecError if it does not fit."""
        state = self._checkpoint.load()
        if state is None:
            return 0
        self._check(state)
        for master, saved in zip(self._masters, state["masters"], strict=True):
            master.copy_(saved)
        self._optimiser.load_state_dict(state["optimiser"])
        self._now = _Run(**{each.name: state[each.name] for each in fields(_Run)})
        self._begun = time.monotonic() - state["spent"]
        self._publish_masters()
        return self._now.step

    def run(self) -> Iterator[Report]:
        """One optimiser step an iteration; ends at the last step, the budget's end, or an early stop.

        Raises OospecError where the loss is no number any more, and where nothing can be written.
        """
        self.model.train()
        for batch in self._feed.batches(self._now.step):
            progress = self._progress()
            if progress >= 1.0 or self._now.worse >= _PATIENCE:
                break
            packed = self._feed.packed(batch, self._now.step)
            self._now.left_out += len(batch) - len(packed)
            loss = self._optimise(packed, progress) if packed else math.nan
            self._now.step += 1
            yield self._report(loss, self._settle() if self._now.step % _DEV_EVERY == 0 else None)
        measured = bool(self._now.history) and self._now.history[-1][0] == self._now.step
        yield self._report(math.nan, self._now.history[-1][1] if measured else self._settle())

    def _report(self, loss: float, dev_loss: float | None) -> Report:
        return Report(self._now.step, self._feed.steps, loss, dev_loss, self._now.tokens, self._now.left_out)

    def _progress(self) -> float:
        """Share of the schedule that is over: of the steps, or of the budget where that ends sooner."""
        budget = self._options.budget
        share = self._now.step / self._feed.steps
        return share if budget is None else max(share, (time.monotonic() - self._begun) / 60 / budget)

    def _optimise(self, packed: Sequence[Packed], progress: float) -> float:
        recipe = self._options.recipe
        torch.manual_seed(self._options.seed + self._now.step)  # dropout, wherever the run was begun
        total = sum(sum(p.weights) for p in packed)
        loss = 0.0
        for group in groups(packed):
            part = weighted_loss(self.model, group) / total
            part.backward()
            loss += float(part.detach())
        self._now.tokens += sum(map(len, packed))
        for master, weight in zip(self._masters, self._weights, strict=True):
            master.grad = None if weight.grad is None else weight.grad.float()
            weight.grad = None
        norm = float(torch.nn.utils.clip_grad_norm_(self._masters, recipe.clip))
        if not math.isfinite(loss + norm):  # one such step would spoil the weights for good
            raise OospecError(
                f"step {self._now.step + 1}: the loss is {loss}, its gradient {norm}; "
                "try another recipe or --dtype float32"
            )
        warm = min(1.0, (self._now.step + 1) / max(1.0, recipe.warmup * self._feed.steps))
        for group_ in self._optimiser.param_groups:
            group_["lr"] = recipe.rate * warm * 0.5 * (1 + math.cos(math.pi * progress))
        self._optimiser.step()
        self._publish_masters()
        return loss

    def _settle(self) -> float | None:
        """Measure, keep the adapter if it is the best so far (without a development split: always), and the state."""
        loss = self._measure()
        if loss is not None:
            self._now.history.append((self._now.step, loss))
            self._now.worse = 0 if loss < self._now.best else self._now.worse + 1
        if loss is None or loss < self._now.best:
            save_adapter(self.model, self._options.out)
        self._now.best = self._now.best if loss is None else min(self._now.best, loss)
        self._save()
        return loss

    @torch.no_grad()
    def _measure(self) -> float | None:
        """Mean loss over the development split; None without one."""
        if not self._feed.dev:
            return None
        self.model.eval()
        total = sum(float(weighted_loss(self.model, group)) for group in groups(self._feed.dev))
        self.model.train()
        return total / sum(sum(p.weights) for p in self._feed.dev)

    def _save(self) -> None:
        self._checkpoint.save(
            {
                "identity": self._identity(),
                "made_of": dict(self._options.made_of),
                "masters": self._masters,
                "optimiser": self._optimiser.state_dict(),
                "spent": time.monotonic() - self._begun,
                **vars(self._now),
            }
        )

    def _identity(self) -> str:
        """What a checkpoint must have been made with to be gone on from."""
        return repr((self._options.recipe, self._options.seed, self._feed.ids))

    def _check(self, state: Mapping[str, Any]) -> None:
        """Raises OospecError for a checkpoint of another run."""
        path, remedy = self._checkpoint.path, "name another --out, or remove it"
        if state["identity"] != self._identity():
            raise OospecError(f"{path}: of a run with other rows, seed or recipe; {remedy}")
        was, now = state.get("made_of", {}), self._options.made_of
        if odd := [name for name in now if name in was and was[name] != now[name]]:
            raise OospecError(f"{path}: of a run with another {odd[0]} ({was[odd[0]]}); {remedy}")
        if [master.shape for master in self._masters] != [saved.shape for saved in state["masters"]]:
            raise OospecError(f"{path}: of a run with another base; {remedy}")

    @torch.no_grad()
    def _publish_masters(self) -> None:
        for master, weight in zip(self._masters, self._weights, strict=True):
            weight.copy_(master)
