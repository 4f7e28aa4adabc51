"""Ids of tree decoding against those of ``transformers``' own ``generate(do_sample=False)``.

Exact in float32. In bfloat16 the shape of a batch can move a near tie: rows that differ are listed with the gap of
the two best logits where they depart, to be held against the median gap.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from statistics import median
from typing import Any

import torch

from oospec_async.commands.summary import departure
from oospec_async.console.table import Table
from oospec_async.decoding.drafters.base import Drafter
from oospec_async.decoding.memory import Recollection
from oospec_async.decoding.state import DecodeState, Setting
from oospec_async.decoding.tree import Candidate, DraftTree, VerifyCurve
from oospec_async.decoding.verify import Limits
from oospec_async.decoding.view import View
from oospec_async.target.greedy import GreedyRule
from oospec_async.target.target import Target
from oospec_async.target.tree_model import TreeModel
from oospec_async.weights.families import FAMILIES
from oospec_async.weights.load import DTYPES
from tools.gpu_checks.base import Bench, Outcome, Preset
from tools.gpu_checks.randoms import free, random_model

_PENALTY, _PENALISED = 1.1, "qwen2"  # one family with a repetition penalty too
_FREE = VerifyCurve(((1, 1.0), (64, 1.0)))  # every draft pays for itself


class _NoText:
    """Ids without texts: nothing here reads the output."""

    def encode(self, text: str) -> list[int]:
        return []

    def decode(self, ids: Sequence[int]) -> str:
        return ""


class _Adversary(Drafter):
    """Knows the output, and drafts it with errors: cut short, wrong after a few tokens, or wrong from the start."""

    name = "adversary"

    def __init__(self, output: Sequence[int], vocabulary: int) -> None:
        self._output, self._vocabulary = output, vocabulary

    def propose(self, view: View) -> list[Candidate]:
        here = len(view.output)
        chance = random.Random(here)

        def wild(count: int) -> tuple[int, ...]:
            return tuple(chance.randrange(self._vocabulary) for _ in range(count))

        right = tuple(self._output[here : here + chance.randrange(8)])
        chains = [right + wild(1), right[:2] + wild(2), right[:-1] + wild(1), wild(2)]
        return [Candidate(chain, self.name, 0.9 - 0.1 * rank) for rank, chain in enumerate(chains)]


@dataclass
class _Row:
    """One prompt, decoded by trees."""

    output: list[int]
    margins: list[float]
    drafted: int = 0
    accepted: int = 0


@dataclass
class _Group:
    """One model's rows."""

    family: str
    dtype: str
    penalty: float
    rows: int = 0
    drafted: int = 0
    accepted: int = 0
    margins: list[float] = field(default_factory=list)
    differences: list[dict[str, Any]] = field(default_factory=list)

    def add(self, prompt: int, drafts: str, row: _Row, expected: list[int]) -> None:
        self.rows += 1
        self.drafted += row.drafted
        self.accepted += row.accepted
        self.margins += row.margins
        position = departure(row.output, expected)
        if position is not None:
            gap = row.margins[position] if position < len(row.margins) else None
            self.differences.append({"prompt": prompt, "drafts": drafts, "position": position, "gap": gap})

    def as_json(self) -> dict[str, Any]:
        return {
            "family": self.family,
            "dtype": self.dtype,
            "repetition_penalty": self.penalty,
            "rows": self.rows,
            "equal": self.rows - len(self.differences),
            "drafted": self.drafted,
            "accepted": self.accepted,
            "gap_smallest": min(self.margins),
            "gap_median": median(self.margins),
            "differences": self.differences,
        }


def _generate(model: Any, prompt: list[int], tokens: int) -> list[int]:
    ids = torch.tensor([prompt], device=model.device)
    mask = torch.ones_like(ids)
    output = model.generate(ids, attention_mask=mask, do_sample=False, max_new_tokens=tokens, pad_token_id=0)
    return [int(token) for token in output[0, len(prompt) :].tolist()]


def _decode(target: Target, prompt: list[int], tokens: int, drafters: Sequence[_Adversary]) -> _Row:
    """The round loop of the engine without its clock and channel."""
    limits = Limits(tokens, target.end_tokens)
    state = DecodeState(
        Setting(prompt, (), limits, _NoText(), (), drafters, Recollection(), _FREE, vocabulary=target.vocabulary)
    )
    step, tree = target.prefill(prompt), DraftTree([prompt[-1]])
    row = _Row(state.output, [])
    while True:
        verdict = state.commit(tree, step.predicted, step.successors)
        row.margins += [step.margins[node] for node in verdict.path]
        row.drafted += len(tree) - 1
        row.accepted += len(verdict.path) - 1
        if state.finish is not None:
            return row
        tree = state.propose()
        step = target.verify(verdict.path, tree.tokens, tree.parents)


def _group(family: str, dtype: str, penalty: float, preset: Preset, device: str) -> _Group:
    # Made on the CPU, so that every device gets the same weights; widely spread ones make the output depend on all of
    # its context.
    model = random_model(
        family,
        "cpu",
        DTYPES[dtype],
        std=2.4 / preset.hidden**0.5,
        hidden_size=preset.hidden,
        intermediate_size=2 * preset.hidden,
        num_hidden_layers=preset.layers,
        num_attention_heads=4,
        num_key_value_heads=2,
        vocab_size=preset.vocabulary,
        tie_word_embeddings=family == "qwen2",
        max_position_embeddings=1024,
        **({"head_dim": preset.hidden // 4} if family == "qwen3" else {}),
    ).to(device)
    model.generation_config.repetition_penalty = penalty
    target = Target(TreeModel(model), GreedyRule.from_config(model.generation_config, family))
    group, chance = _Group(family, dtype, penalty), random.Random(7)
    for number, length in enumerate(preset.prompts):
        prompt = [chance.randrange(preset.vocabulary) for _ in range(length)]
        expected = _generate(model, prompt, preset.tokens)
        group.add(number, "none", _decode(target, prompt, preset.tokens, []), expected)
        adversary = _Adversary(expected, target.vocabulary)
        group.add(number, "adversary", _decode(target, prompt, preset.tokens, [adversary]), expected)
    return group


def _reason(groups: Sequence[_Group]) -> str:
    exact = [group for group in groups if group.dtype == "float32"]
    differing = sum(len(group.differences) for group in exact)
    if differing:
        return f"{differing} of {sum(group.rows for group in exact)} float32 outputs differ from generate's"
    lopsided = next((group for group in exact if not 0.1 < group.accepted / group.drafted < 0.9), None)
    if lopsided is not None:
        return f"{lopsided.family}: {lopsided.accepted} of {lopsided.drafted} drafted tokens accepted: drafts too easy"
    return ""


async def check(bench: Bench) -> Outcome:
    device = bench.devices[0].torch_name
    cases = [(family, dtype, 1.0) for family, dtype in product(FAMILIES, ("float32", "bfloat16"))]
    cases += [(_PENALISED, dtype, _PENALTY) for dtype in ("float32", "bfloat16")]
    groups: list[_Group] = []
    for family, dtype, penalty in cases:
        bench.say(f"ids: {family}, {dtype}", len(groups) / len(cases))
        groups.append(await bench.executor.run(partial(_group, family, dtype, penalty, bench.preset, device)))
        free(device)
    reason = _reason(groups)
    results = [group.as_json() for group in groups]
    title = (
        f"Ids against generate(do_sample=False): random models, hidden {bench.preset.hidden}, "
        f"{bench.preset.layers} layers, {bench.preset.tokens} tokens a row"
    )
    rows: list[list[str]] = []
    departures: list[list[str]] = []
    for r in results:
        about = (r["family"], r["dtype"])
        middle = f"{r['gap_median']:.3g}"
        equal, counts = f"{r['equal']}/{r['rows']}", (str(r["drafted"]), str(r["accepted"]))
        rows.append([*about, f"{r['repetition_penalty']:g}", equal, *counts, f"{r['gap_smallest']:.2g}", middle])
        for d in r["differences"]:
            gap = "" if d["gap"] is None else f"{d['gap']:.3g}"
            departures.append([*about, str(d["prompt"]), d["drafts"], str(d["position"]), gap, middle])
    heads = ("family", "dtype", "penalty", "equal", "drafted", "accepted", "smallest gap", "median gap")
    tables = [Table(title, heads, rows)]
    if departures:
        departing = ("family", "dtype", "prompt", "drafts", "token", "logit gap", "median gap")
        tables.append(Table("Rows that differ", departing, departures))
    return Outcome(not reason, {"groups": results}, tables, reason)
