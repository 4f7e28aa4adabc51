"""Drafters that repeat what was seen: history (earlier outputs), lookup (the prompt), recycle (token successors)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.drafts import candidates
from oospec_async.decoding.memory import Memory, Recollection, State

IDS = st.lists(st.integers(30, 40), max_size=30)


def chains(drafter: str, output: list[int], **more: object) -> list[tuple[int, ...]]:
    return [candidate.tokens for candidate in candidates(drafter, output, **more)]  # type: ignore[arg-type]


# --- lookup ----------------------------------------------------------------------------------------------------------


def test_lookup_drafts_what_followed_the_latest_earlier_occurrence() -> None:
    prompt = [50, 51, 52, 60, 61, 50, 51, 52, 70, 71]
    assert chains("lookup", [50, 51, 52], prompt=prompt) == [(70, 71, 50, 51, 52)]


def test_lookup_prefers_the_longest_match() -> None:
    prompt = [1, 2, 3, 4, 60, 9, 3, 4, 70]
    assert chains("lookup", [2, 3, 4], prompt=prompt)[0][0] == 60
    assert chains("lookup", [8, 3, 4], prompt=prompt)[0][0] == 70


def test_lookup_finds_repetitions_within_the_output() -> None:
    assert chains("lookup", [5, 6, 7, 5, 6], prompt=[1])[0][0] == 7


@given(prompt=IDS.filter(bool), output=IDS)
def test_lookup_copes_with_prompts_shorter_than_any_ngram(prompt: list[int], output: list[int]) -> None:
    whole = prompt + output
    for chain in chains("lookup", output, prompt=prompt):
        assert 0 < len(chain) <= 10
        assert any(whole[i : i + len(chain)] == list(chain) for i in range(len(whole)))


# --- history ---------------------------------------------------------------------------------------------------------


def remembering(*outputs: list[int], states: list[State] | None = None, state: State | None = None) -> Recollection:
    memory = Memory()
    for number, output in enumerate(outputs):
        memory.learn(output, states[number] if states else None, Recollection(), None)
    return memory.recall(state)


def test_history_is_cold_at_first() -> None:
    assert chains("history", []) == []
    assert chains("history", [1] * 9) == []


def test_history_repeats_outputs_that_begin_alike_most_recent_first() -> None:
    memory = remembering([1, 2, 3], [1, 2, 4], [5])
    assert chains("history", [1, 2], memory=memory) == [(4,), (3,)]
    assert chains("history", [1, 2, 3], memory=memory) == []


def test_history_matches_by_ngram_at_any_place() -> None:
    old = [*range(20), *range(100, 110)]
    assert chains("history", [90, 91, 5, 6, 7, 8, 9], memory=remembering(old)) == [tuple(old[10:26])]
    assert chains("history", [90, 91, 4, 7, 8, 9], memory=remembering(old)) == []


def test_history_prefers_outputs_of_similar_prompts() -> None:
    a, b, c = (np.array(v, dtype=np.float32) for v in ([1, 0], [0, 2], [-1, 0]))
    memory = remembering([7, 1], [7, 2], [7, 3], states=[a, b, c], state=np.array([0.1, 5], dtype=np.float32))
    assert chains("history", [7], memory=memory) == [(2,), (1,)]


def test_states_of_another_width_or_length_zero_are_no_similarity_and_no_error() -> None:
    states = [np.zeros(2, dtype=np.float32), np.ones(3, dtype=np.float32)]
    memory = remembering([7, 1], [7, 2], states=states, state=np.ones(2, dtype=np.float32))
    assert set(chains("history", [7], memory=memory)) == {(1,), (2,)}


def test_history_is_bounded_and_forgets_the_oldest() -> None:
    memory = Memory(max_entries=3)
    for number in range(5):
        memory.learn([number], None, Recollection(), None)
    assert [entry.tokens for entry in memory.recall(None).entries] == [(4,), (3,), (2,)]


@given(outputs=st.lists(IDS, max_size=5), output=IDS)
def test_history_drafts_pieces_of_earlier_outputs_only(outputs: list[list[int]], output: list[int]) -> None:
    for chain in chains("history", output, memory=remembering(*outputs)):
        assert 0 < len(chain) <= 16
        assert any(old[i : i + len(chain)] == list(chain) for old in outputs for i in range(len(old)))


# --- recycle ---------------------------------------------------------------------------------------------------------


def test_recycle_drafts_a_chain_for_each_successor_of_the_last_token() -> None:
    memory = Recollection(earlier_successors={1: [2, 3], 2: [4, 9], 4: [1], 3: [5]})
    assert chains("recycle", [1], memory=memory, prompt=[8]) == [(2, 4, 1, 2, 4, 1), (3, 5)]


@pytest.mark.parametrize("last", [20, 21])
def test_recycle_follows_first_successors_for_a_few_tokens(last: int) -> None:
    memory = Recollection(earlier_successors={20: [21, 22], 21: [20], 22: [23]})
    found = candidates("recycle", [], memory=memory, prompt=[last])
    assert found[0].tokens == (21, 20, 21, 20, 21, 20)[last - 20 :] + (21,) * (last - 20)
    assert all(len(candidate.tokens) <= 6 for candidate in found)
    assert [candidate.prior for candidate in found] == sorted((c.prior for c in found), reverse=True)


def test_what_this_request_has_seen_replaces_what_earlier_ones_saw() -> None:
    memory = Recollection(earlier_successors={1: [2]}, successors={1: [3]})
    assert memory.successors_of(1) == [3]
    assert memory.successors_of(9) == ()
