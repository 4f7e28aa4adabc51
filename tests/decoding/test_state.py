"""A request's decoding as a value: what it proposes, and what it says about its output."""

from __future__ import annotations

import pytest

from helpers import tiny
from helpers.calling import ANSWERS
from helpers.loop import Adversary, drafted_texts, setting
from oospec_async.decoding.memory import Memory, Recollection
from oospec_async.decoding.state import MAX_NODES, DecodeState
from oospec_async.decoding.tree import DraftTree, VerifyCurve
from oospec_async.decoding.verify import Limits
from oospec_async.dialects.dialect import NAMED
from oospec_async.dialects.wrapping import observed_dialect
from oospec_async.testing import state_after

PROMPT = tiny.codec().encode("<|im_start|>assistant\n")


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS.keys())
def test_pieces_add_up_to_the_text(answer: str) -> None:
    ids = tiny.codec().encode(answer)
    state = state_after(ids, setting(PROMPT, Limits(1000)))
    assert "".join(state.pieces) == state.text == answer
    assert len(state.pieces) == len(ids)


def test_half_a_character_is_no_piece_yet() -> None:
    ids = tiny.codec().encode("🙂")
    assert state_after(ids, setting(PROMPT, Limits(99))).pieces == ["", "", "", "🙂"]
    assert state_after(ids[:3], setting(PROMPT, Limits(99))).pieces == ["", "", ""]


def test_the_end_token_is_output_but_not_text() -> None:
    end = tiny.token("<|im_end|>")
    state = state_after([*tiny.codec().encode("Hi"), end], setting(PROMPT, Limits(99, frozenset({end}))))
    assert state.output[-1] == end
    assert state.text == "Hi"
    assert state.pieces[-1] == ""
    assert state.finish == "stop"


def test_sources_name_the_drafter_of_accepted_tokens_only() -> None:
    state = state_after([1, 2], setting(PROMPT, Limits(99)))
    tree = DraftTree([2])
    tree.add(4, tree.add(3, 0, "history"), "schema")
    state.commit(tree, [3, 5, 0], [[3], [5], [0]])
    assert state.output == [1, 2, 3, 5]
    assert state.sources == ["", "", "history", ""]


@pytest.mark.parametrize(
    ("prompt", "thinks"),
    [("<think>", True), ("<think>\n", True), ("<think>\n\n</think>\n\n", False), ("think\n", False), ("", False)],
)
def test_a_prompt_may_have_opened_a_think_block(prompt: str, thinks: bool) -> None:
    state = DecodeState(setting(tiny.codec().encode("<|im_start|>assistant\n" + prompt), Limits(9)))
    assert state.view(None).site.thinking is thinks


def test_candidates_with_ids_unknown_to_the_target_are_dropped() -> None:
    asked = setting(PROMPT, Limits(99), drafters=[Adversary([1] * 99, 470)], vocabulary=200)
    for length in range(20):
        assert all(token < 200 for token in state_after([1] * length, asked).propose().tokens[1:])


def test_a_tree_is_bounded_even_where_every_draft_pays() -> None:
    asked = setting(PROMPT, Limits(9999), drafters=[Adversary(list(range(470)), 470, seed) for seed in range(30)])
    assert len(state_after([0], asked).propose()) == MAX_NODES + 1


def test_a_steep_curve_leaves_only_the_root() -> None:
    asked = setting(PROMPT, Limits(9999), method="toolspec", curve=VerifyCurve(((1, 1.0), (2, 3.0))))
    assert len(state_after([], asked).propose()) == 1


def test_the_dialect_seen_in_earlier_outputs_is_preferred() -> None:
    memory = Memory()
    for answer in (ANSWERS["fenced"], ANSWERS["fenced"], ANSWERS["plain"]):
        memory.learn([1], None, Recollection(), observed_dialect(answer, list(NAMED.values())))
    state = state_after([], setting(PROMPT, Limits(99), method="schema", memory=memory.recall(None)))
    assert state.view(None).dialects[0].opener == "```json\n"
    assert any(text.startswith("```json\n{\n") for text in drafted_texts(state.propose()))
