"""The drafter of what a model says: its chain is one candidate, as likely as the model says that it is."""

from __future__ import annotations

import pytest

from helpers import tiny
from helpers.loop import setting
from oospec_async.decoding.draft_chain import NO_CHAIN, Chain
from oospec_async.decoding.drafters import DRAFTERS, drafters_of, needs_of
from oospec_async.decoding.drafters.needs import CHAINS, HINTS
from oospec_async.decoding.state import DecodeState
from oospec_async.decoding.tree import VerifyCurve
from oospec_async.decoding.verify import Limits
from oospec_async.testing import state_after

PROMPT = tiny.codec().encode("<|im_start|>assistant\n")


def state(method: str = "draft", limit: int = 100, **more: VerifyCurve) -> DecodeState:
    return state_after([5], setting(PROMPT, Limits(limit), method=method, **more))


def test_a_chain_is_one_candidate_with_the_models_own_probabilities() -> None:
    chain = Chain((7, 8, 9), (0.9, 0.8, 0.2))
    (candidate,) = DRAFTERS["draft"].propose(state().view(None, chain))
    assert candidate.tokens == (7, 8, 9)
    assert candidate.source == "draft"
    assert candidate.prior == 0.9
    assert candidate.prior * candidate.survival**2 == pytest.approx(0.9 * 0.8 * 0.2)


def test_a_chain_of_one_token_has_its_chance() -> None:
    (candidate,) = DRAFTERS["draft"].propose(state().view(None, Chain((7,), (0.4,))))
    assert (candidate.tokens, candidate.prior) == ((7,), 0.4)


def test_without_a_chain_nothing_is_drafted() -> None:
    assert DRAFTERS["draft"].propose(state().view(None)) == []
    assert len(state().propose(None, NO_CHAIN)) == 1


def test_the_tree_is_the_chain_as_far_as_it_pays_to_verify_it() -> None:
    chain = Chain((7, 8, 9), (0.9, 0.9, 0.9))
    assert state().propose(None, chain).tokens == [5, 7, 8, 9]
    steep = VerifyCurve(((1, 1.0), (2, 1.1), (3, 9.0), (64, 900.0)))
    assert state(curve=steep).propose(None, chain).tokens == [5, 7]


def test_a_chain_leaves_room_for_the_rounds_own_token() -> None:
    asked = state(limit=4)
    assert asked.room == 2
    assert asked.propose(None, Chain((7, 8, 9), (0.9, 0.9, 0.9))).tokens == [5, 7, 8]


def test_ids_that_the_target_does_not_know_are_not_proposed() -> None:
    unknown = len(tiny.tokenizer()) + tiny.PADDING
    assert len(state().propose(None, Chain((unknown,), (0.9,)))) == 1


def test_in_a_mix_the_chain_shares_the_tree_with_the_others() -> None:
    tokens = tuple(tiny.codec().encode("It is warm."))
    asked = state_after([], setting(PROMPT, Limits(100), method="schema+history+recycle+draft"))
    tree = asked.propose(None, Chain(tokens, (0.9,) * len(tokens)))
    assert {"draft", "schema"} <= set(tree.sources)


def test_methods_tell_what_they_need() -> None:
    assert [d.name for d in drafters_of("draft")] == ["draft"]
    assert needs_of("draft") == (CHAINS,)
    assert needs_of("schema+history+recycle+draft+hint") == (CHAINS, HINTS)
    assert needs_of("oospec", "hint") == (HINTS,)
    assert not needs_of("toolspec")
