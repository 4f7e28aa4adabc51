"""Invariant 1 with a draft model: what it says, right or wrong, changes no id of the output."""

from __future__ import annotations

import pytest

from helpers import tiny
from helpers.calling import ANSWERS, calling_model, greedy, honest, question
from helpers.loop import decode, setting
from oospec_async.decoding.draft_chain import LONGEST_CHAIN, ChainCosts
from oospec_async.decoding.memory import Memory
from oospec_async.decoding.tree import VerifyCurve
from oospec_async.decoding.verify import Limits

VOCABULARY = len(tiny.tokenizer()) + tiny.PADDING
STD = 0.5  # of random weights

pytestmark = pytest.mark.parametrize("family", tiny.FAMILIES)


@pytest.mark.parametrize("method", ["draft", "schema+history+recycle+draft+hint"])
def test_a_draft_model_changes_nothing_whether_it_knows_the_answers_or_not(family: str, method: str) -> None:
    model = calling_model(family)
    target = tiny.target_of(model)
    rounds = []
    for small in (calling_model("llama"), tiny.random_model("qwen3", std=STD)):
        draft_model, memory = tiny.draft_model_of(small, model), Memory()
        rounds.append(0)
        for name in ("plain", "unicode", "thinks"):  # one that knows nothing drafts long chains in every round
            asked = setting(question(name), Limits(120, target.end_tokens), method=method, memory=memory.recall(None))
            got = decode(target, asked, honest, draft_model)
            assert got.output == greedy(name, family), name
            rounds[-1] += got.rounds
            memory.learn(got.output, None, memory.recall(None), None)
    assert rounds[0] < rounds[1]


def test_of_a_draft_model_that_is_the_target_itself_everything_is_accepted(family: str) -> None:
    model = calling_model(family)
    target, draft_model = tiny.target_of(model), tiny.draft_model_of(model, model)
    for name in ANSWERS:
        asked = setting(question(name), Limits(120, target.end_tokens), method="draft")
        got = decode(target, asked, draft_model=draft_model)
        assert got.output == greedy(name, family)
        # Of the last block the end token is drafted too, and is the target's own in a round that reaches it.
        assert got.drafted - got.accepted <= 1
        assert got.rounds <= len(got.output) // LONGEST_CHAIN + 1


@pytest.mark.parametrize("padding", [0, tiny.PADDING + 64])
def test_a_draft_model_may_have_more_or_fewer_padding_rows_than_the_target(family: str, padding: int) -> None:
    small, beyond = tiny.random_model("llama", seed=1, std=STD, vocab_size=len(tiny.tokenizer()) + padding), 0
    for seed in range(2):
        model = tiny.random_model(family, seed=seed, std=STD)
        expected = tiny.generate(model, [seed], 40)
        beyond += any(token >= len(tiny.tokenizer()) for token in expected)  # padding rows too are emitted
        asked = setting([seed], Limits(40), method="draft", vocabulary=VOCABULARY)
        got = decode(tiny.target_of(model), asked, draft_model=tiny.draft_model_of(small, model))
        assert got.output == expected
        assert got.drafted
    assert beyond


@pytest.mark.parametrize("seed", [11, 12], ids=["the target itself", "another model"])
def test_a_draft_model_guesses_what_the_targets_own_rule_makes_of_logits(family: str, seed: int) -> None:
    prompt = list(range(20))
    model = tiny.random_model(family, seed=11, std=STD)
    free = tiny.generate(model, prompt, 50)
    model.generation_config.repetition_penalty = 1.2
    model.generation_config.suppress_tokens = [free[0], VOCABULARY + 7]
    model.generation_config.eos_token_id = [tiny.generate(model, prompt, 50)[-1]]
    expected = tiny.generate(model, prompt, 50)
    assert len(expected) > 25
    small = tiny.random_model(family, seed=seed, std=STD)
    costs = ChainCosts(0.01, VerifyCurve())
    target = tiny.target_of(model)
    limits = Limits(50, target.end_tokens)
    asked = setting(prompt, limits, method="draft")
    got = decode(target, asked, draft_model=tiny.draft_model_of(small, model, costs))
    assert got.output == expected
    if seed == 11:
        assert got.drafted - got.accepted <= 1
        assert got.accepted > 20
