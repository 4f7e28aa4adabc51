"""Invariant 9, live: no drafts cost exactly what AR costs; a hint that is the output reaches the fewest rounds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from helpers.calling import ANSWERS, KOELN, NOW, ORDER, PARIS, calling_model, greedy, question
from helpers.loop import decode, setting
from oospec_async.decoding.drafters import drafters_of
from oospec_async.decoding.state import MAX_NODES
from oospec_async.decoding.verify import Limits
from oospec_async.dialects.dialect import NAMED, Dialect
from oospec_async.dialects.wrapping import observed_dialect
from oospec_async.hints import CallHint, Hint
from oospec_async.target.greedy import GreedyRule
from oospec_async.target.target import Target
from oospec_async.target.tree_model import Logits, TreeModel


class Counting(TreeModel):
    """Notes the tokens of every forward."""

    forwards: list[int]

    def extend(self, tokens: Sequence[int], parents: Sequence[int], wanted: Sequence[int] | None = None) -> Logits:
        self.forwards.append(len(tokens))
        logits: Logits = super().extend(tokens, parents, wanted)
        return logits


@pytest.fixture
def model() -> Counting:
    counting = Counting(calling_model())
    counting.forwards = []
    return counting


def target_of(model: TreeModel) -> Target:
    return Target(model, GreedyRule.from_config(calling_model().generation_config, "tiny"))


@pytest.mark.parametrize("name", ANSWERS)
@pytest.mark.parametrize("method", ["ar", "hint"])
def test_without_drafts_there_is_exactly_one_forward_of_one_token_per_output_token(
    model: Counting, method: str, name: str
) -> None:
    target = target_of(model)
    run = decode(target, setting(question(name), Limits(120, target.end_tokens), method=method))
    assert run.output == greedy(name)
    assert model.forwards == [len(question(name)), *[1] * (len(run.output) - 1)]
    assert run.drafted == 0


HINTS = {"plain": [PARIS], "unicode": [KOELN], "nested": [ORDER], "empty": [NOW], "two": [PARIS, KOELN]}
CASES: dict[str, tuple[list[dict[str, Any]], Dialect | None]] = {
    name: (calls, NAMED["hermes"]) for name, calls in HINTS.items()
}
CASES["fenced"] = [PARIS], NAMED["fenced"]
CASES["tight"] = [PARIS], observed_dialect(ANSWERS["tight"], [])


@pytest.mark.parametrize("name", CASES)
def test_a_hint_that_is_the_output_reaches_the_lower_bound_in_rounds(model: Counting, name: str) -> None:
    calls, dialect = CASES[name]
    assert dialect is not None
    rounds, output = rounds_of(model, name, calls, dialect)
    assert rounds == math.ceil((len(output) - 1) / (MAX_NODES + 1))


def rounds_of(model: Counting, name: str, calls: list[dict[str, Any]], dialect: Dialect) -> tuple[int, list[int]]:
    hint = Hint(tuple(CallHint(call["name"], call["arguments"]) for call in calls))
    target = target_of(model)
    limits = Limits(120, target.end_tokens)
    alone = replace(setting(question(name), limits, drafters=drafters_of("hint")), dialects=[dialect])
    run = decode(target, alone, lambda number: hint)
    assert run.output == greedy(name)
    assert len(model.forwards) == 1 + run.rounds
    return run.rounds, run.output
