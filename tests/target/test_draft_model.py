"""A draft model: it goes on greedily from what is committed, by the target's rule, for as long as that pays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import tiny
from oospec_async.decoding.draft_chain import LONGEST_CHAIN, NO_CHAIN, ChainCosts
from oospec_async.decoding.tree import VerifyCurve
from oospec_async.errors import OospecError
from oospec_async.target.draft_model import DraftModel, check_vocabularies
from oospec_async.target.greedy import GreedyRule
from oospec_async.target.tree_model import TreeModel

STD = 0.5
MODEL = tiny.random_model("qwen2", std=STD)
TARGET = tiny.random_model("llama", seed=4, std=STD)
PROMPT = list(range(40, 60))
FREE = ChainCosts(0.0, VerifyCurve(((1, 1.0), (64, 1.0))))
VOCABULARY = len(tiny.tokenizer()) + tiny.PADDING


def watched(model: TreeModel) -> list[int]:
    """Tokens of each forward."""
    read, extend = list[int](), model.extend

    def counting(tokens: Sequence[int], *arguments: Any, **more: Any) -> Any:
        read.append(len(tokens))
        return extend(tokens, *arguments, **more)

    model.extend = counting  # type: ignore[method-assign]
    return read


def drafting(model: TreeModel, vocabulary: int = VOCABULARY, costs: ChainCosts = FREE) -> DraftModel:
    return DraftModel(model, GreedyRule(frozenset()), costs, vocabulary)


def test_a_chain_is_what_the_model_generates_up_to_its_limit_with_its_probabilities() -> None:
    chain = tiny.draft_model_of(MODEL, TARGET).chain(PROMPT, 100)
    assert list(chain.tokens) == tiny.generate(MODEL, PROMPT, LONGEST_CHAIN)
    for limit in (-1, 0, 1, 5):
        assert drafting(TreeModel(MODEL)).chain(PROMPT, limit).tokens == chain.tokens[: max(limit, 0)]
    with torch.inference_mode():
        logits = MODEL(torch.tensor([PROMPT + list(chain.tokens)])).logits[0, len(PROMPT) - 1 : -1]
    chances = torch.softmax(logits, dim=-1)[range(LONGEST_CHAIN), list(chain.tokens)]
    torch.testing.assert_close(torch.tensor(chain.probabilities), chances, rtol=1e-3, atol=1e-5)


@given(
    st.lists(st.tuples(st.integers(0, 40), st.lists(st.integers(0, 9), min_size=1, max_size=4)), min_size=2, max_size=5)
)
@settings(max_examples=25)
def test_rejected_tokens_are_rolled_back_however_the_output_goes_on(asked: list[tuple[int, list[int]]]) -> None:
    draft_model = tiny.draft_model_of(MODEL, TARGET)
    said: list[int] = []
    for kept, others in asked:
        tokens = [*PROMPT, *said[:kept], *others]
        fresh = tiny.draft_model_of(MODEL, TARGET).chain(tokens, 4)
        chain = draft_model.chain(tokens, 4)
        assert chain.tokens == fresh.tokens
        assert chain.probabilities == pytest.approx(fresh.probabilities, rel=1e-3)
        said = [*tokens[len(PROMPT) :], *chain.tokens]


def test_the_prompt_is_read_once_unless_a_request_begins_anew_and_a_round_reads_what_is_new() -> None:
    model = TreeModel(MODEL)
    draft_model, read = drafting(model), watched(model)

    def reads(tokens: list[int]) -> list[int]:
        read.clear()
        draft_model.chain(tokens, 4)
        return list(read)

    said = list(drafting(TreeModel(MODEL)).chain(PROMPT, 4).tokens)
    assert reads(PROMPT) == [len(PROMPT), 1, 1, 1]
    assert reads([*PROMPT, *said, 7]) == [2, 1, 1, 1]  # all accepted: the last token was not read yet
    assert reads([*PROMPT, *said[:2], 8]) == [1, 1, 1, 1]
    draft_model.begin(reuse=True)
    assert reads(PROMPT)[0] == 1
    draft_model.begin(reuse=False)
    assert reads(PROMPT)[0] == len(PROMPT)


def test_a_chain_ends_with_an_end_token_of_the_target() -> None:
    free = tiny.generate(MODEL, PROMPT, 10)
    target = tiny.random_model("llama", std=STD)
    target.generation_config.eos_token_id = [VOCABULARY - 1, free[4]]
    assert list(tiny.draft_model_of(MODEL, target).chain(PROMPT, 10).tokens) == free[: free.index(free[4]) + 1]


def test_tokens_are_chosen_by_the_targets_rule() -> None:
    model, target = tiny.random_model("qwen2", std=STD), tiny.random_model("llama", std=STD)
    free = tiny.generate(model, PROMPT, 12)
    for config in (target.generation_config, model.generation_config):
        config.repetition_penalty = 1.3
        config.suppress_tokens = [free[0]]
    expected = tiny.generate(model, PROMPT, 12)
    assert expected != free
    assert list(tiny.draft_model_of(MODEL, target).chain(PROMPT, 12).tokens) == expected


def test_ids_beyond_the_targets_vocabulary_are_never_said() -> None:
    free = tiny.generate(MODEL, PROMPT, LONGEST_CHAIN)
    known = max(free)
    chain = drafting(TreeModel(MODEL), known).chain(PROMPT, 100)
    assert len(chain.tokens) == LONGEST_CHAIN
    assert max(chain.tokens) < known


def test_the_rule_holds_where_the_target_has_said_ids_that_the_draft_model_lacks_or_may_not_say() -> None:
    rule = GreedyRule(frozenset(), repetition_penalty=1.2)
    draft_model = DraftModel(TreeModel(MODEL), rule, FREE, VOCABULARY - 10)
    assert len(draft_model.chain([*PROMPT, VOCABULARY - 1], 5).tokens) == 5
    assert draft_model.chain([*PROMPT, VOCABULARY], 5) is NO_CHAIN  # a padding row of the target's alone
    assert len(draft_model.chain([*PROMPT, 3], 5).tokens) == 5


def test_beyond_its_context_the_draft_model_says_nothing_and_before_it_no_more_than_it_can_read() -> None:
    small = tiny.random_model("qwen2", std=STD, context=32)
    draft_model = drafting(TreeModel(small))
    expected = tiny.generate(tiny.random_model("qwen2", std=STD), PROMPT, LONGEST_CHAIN)
    assert list(draft_model.chain(PROMPT, 100).tokens) == expected[:13]  # 20 + 12 are read, the last is not
    assert len(draft_model.chain(PROMPT + expected[:12], 100).tokens) == 1
    assert draft_model.chain(PROMPT + expected[:13], 100) is NO_CHAIN
    assert draft_model.chain(PROMPT + expected, 100) is NO_CHAIN
    assert list(draft_model.chain(PROMPT, 3).tokens) == expected[:3]


def test_where_no_chain_pays_the_model_is_not_asked() -> None:
    model = TreeModel(MODEL)
    draft_model, read = drafting(model, costs=ChainCosts(1.0, FREE.curve)), watched(model)
    assert draft_model.chain(PROMPT, 100) is NO_CHAIN
    assert read == []
    assert "no chain would pay" in draft_model.line


def test_a_chain_ends_where_the_models_own_doubts_make_another_token_too_dear() -> None:
    doubtful = tiny.random_model("qwen2", std=0.1)  # nearly uniform
    costs = ChainCosts(0.2, VerifyCurve())
    assert len(drafting(TreeModel(doubtful), costs=costs).chain(PROMPT, 100).tokens) == 1
    certain = len(drafting(TreeModel(MODEL), costs=costs).chain(PROMPT, 100).tokens)
    free = drafting(TreeModel(MODEL)).chain(PROMPT, 100).probabilities
    said = 0
    while said < LONGEST_CHAIN and costs.pays(free[:said], 100):
        said += 1
    assert certain == said


def test_a_chance_that_is_no_number_ends_the_chain() -> None:
    broken = tiny.random_model("qwen2", std=STD)
    with torch.no_grad():
        broken.get_output_embeddings().weight.fill_(float("nan"))
    assert drafting(TreeModel(broken)).chain(PROMPT, 5) == NO_CHAIN


def test_calibration_measures_a_step_and_leaves_no_trace() -> None:
    model = TreeModel(MODEL)
    draft_model = DraftModel.calibrated(model, GreedyRule(frozenset()), VerifyCurve(), VOCABULARY)
    assert 0 < draft_model.costs.step < 60
    assert model.rows == 0
    assert "ms a token" in draft_model.line


def test_a_chain_that_fails_leaves_no_cache_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Sequence[int]) -> None:
        raise MemoryError

    model = TreeModel(MODEL)
    draft_model = drafting(model)
    expected = draft_model.chain(PROMPT, 3)
    with monkeypatch.context() as patched:
        patched.setattr(model, "keep", full)
        with pytest.raises(MemoryError):
            draft_model.chain([*PROMPT, 7], 3)
    assert model.rows == 0
    assert draft_model.chain(PROMPT, 3) == expected


class Words:
    def __init__(self, *words: str) -> None:
        self._words = words

    def get_vocab(self) -> dict[str, int]:
        return {word: id_ for id_, word in enumerate(self._words)}


@pytest.mark.parametrize(
    ("other", "known", "reason"),
    [
        (Words("a", "b", "c"), 3, ""),
        (Words("a", "b"), 3, ""),  # one has a word for what pads the other
        (Words("a", "b", "d"), 2, ""),  # no model has a row for it
        (Words("a", "c"), 2, "id 1 is 'b', not 'c'"),
        (Words(), 2, "no id in common"),
    ],
)
def test_a_vocabulary_is_refused_unless_ids_that_both_can_emit_mean_the_same(
    other: Words, known: int, reason: str
) -> None:
    if not reason:
        check_vocabularies(Words("a", "b", "c"), other, known, ("small", "large"))
        return
    with pytest.raises(OospecError, match=rf"^draft model small: .* large \({reason}\); .*none$"):
        check_vocabularies(Words("a", "b", "c"), other, known, ("small", "large"))
