"""Invariant 4: the verifier alone ends a request, and nothing after the end is emitted or counted."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import tiny
from helpers.calling import ANSWERS, calling_model, greedy, question
from helpers.loop import Adversary, decode, setting
from oospec_async.decoding.tree import DraftTree
from oospec_async.decoding.verify import Limits, Verifier
from oospec_async.testing import state_after

END = 7
TOKENS = st.lists(st.integers(0, 9), min_size=1, max_size=20)


def chain(root: int, tokens: Sequence[int]) -> DraftTree:
    tree = DraftTree([root])
    for token in tokens:
        tree.add(token, len(tree) - 1, "test")
    return tree


@given(output=TOKENS, limit=st.integers(1, 20), blocks=st.lists(st.integers(0, 5), min_size=20, max_size=20))
def test_however_an_output_is_cut_into_blocks_it_ends_at_the_first_end_token_or_at_the_limit(
    output: list[int], limit: int, blocks: list[int]
) -> None:
    limits = Limits(limit, frozenset({END}))
    stream = [*output, *[1] * 40]
    cut = next((i + 1 for i, token in enumerate(stream) if token == END), len(stream))
    expected = stream[: min(cut, limit)]
    verifier, got, finish = Verifier(limits, tiny.codec()), list[int](), None
    for size in blocks:
        ahead = stream[len(got) : len(got) + size]
        verdict = verifier.verify(chain(0, ahead), [*ahead, stream[len(got) + size]])
        assert len(verdict.path) == len(verdict.tokens)
        got += verdict.tokens
        finish = verdict.finish
        if finish:
            break
    assert got == expected[: len(got)]
    if finish is not None:
        assert got == expected
        assert finish == ("stop" if got[-1] == END else "length")


def test_end_token_inside_an_accepted_block_keeps_the_tokens_and_the_rows_before_it_only() -> None:
    verdict = Verifier(Limits(99, frozenset({END})), tiny.codec()).verify(chain(0, [1, END, 3]), [1, END, 3, 4])
    assert (verdict.tokens, verdict.path, verdict.finish) == ((1, END), (0, 1), "stop")


def test_an_end_token_at_the_limit_counts_as_stop() -> None:
    assert Verifier(Limits(1, frozenset({END})), tiny.codec()).verify(chain(0, []), [END]).finish == "stop"


def written(text: str, stop: str, block: int) -> list[int]:
    """What is committed of a text that is drafted in blocks."""
    ids = [*tiny.codec().encode(text), *[0] * 60]
    verifier, got = Verifier(Limits(999, stop=("nowhere", stop)), tiny.codec()), list[int]()
    while True:
        ahead = ids[len(got) : len(got) + block]
        verdict = verifier.verify(chain(0, ahead), ids[len(got) : len(got) + block + 1])
        got += verdict.tokens
        if verdict.finish:
            return got


@pytest.mark.parametrize("block", [1, 3, 50])
@pytest.mark.parametrize("stop", ["days", "ity is", "weather in Paris?", "?", "t"])
def test_a_stop_string_ends_the_output_with_the_token_that_completes_it(stop: str, block: int) -> None:
    text = "the city is for days, the weather in Paris? And more? And more."
    got = written(text, stop, block)
    assert text.startswith(tiny.codec().decode(got))
    assert stop in tiny.codec().decode(got)
    assert stop not in tiny.codec().decode(got[:-1])


def test_a_stop_string_whose_characters_are_split_into_bytes_is_found() -> None:
    assert tiny.codec().decode(written("a🙂b", "🙂", 9)) == "a🙂"


def test_committing_after_the_end_is_refused() -> None:
    state = state_after([1, 2], setting([5], Limits(2)))
    assert state.finish == "length"
    with pytest.raises(AssertionError):
        state.commit(chain(2, []), [3], [[3]])


@pytest.mark.parametrize("name", ANSWERS)
def test_what_is_counted_pieced_and_attributed_ends_with_the_output(name: str) -> None:
    output = greedy(name)
    target = tiny.target_of(calling_model())
    beyond = [*output, *output]  # drafts after the end token too
    run = decode(
        target, setting(question(name), Limits(150, target.end_tokens), drafters=[Adversary(beyond, target.vocabulary)])
    )
    state = run.state
    assert state.output == output
    assert state.text == "".join(state.pieces) == ANSWERS[name]
    assert len(state.sources) == len(state.pieces) == len(output)
    assert run.accepted == state.sources.count("adversary") == len(output) - 1 - state.sources[1:].count("")
    assert len(output) == 1 + run.rounds + run.accepted


def test_no_draft_is_deeper_than_what_may_still_be_emitted() -> None:
    output = list(range(30, 60))
    for left in range(1, 12):
        state = state_after(output[:5], setting([1], Limits(5 + left), drafters=[Adversary(output, 400)]))
        assert max(state.propose().depths) <= left - 1
