"""Between tokens and text: drafted ids are those that the tokenizer makes of the whole text."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import real, tiny
from helpers.calling import ANSWERS
from helpers.strategies import OUTPUTS
from oospec_async.decoding.text import Codec, OutputText, Tail
from oospec_async.target.codec import TokenizerCodec

TEXTS = OUTPUTS | st.text(st.characters(codec="utf-8"), max_size=40) | st.sampled_from(list(ANSWERS.values()))
IDS = st.lists(st.integers(0, len(tiny.tokenizer()) + 50), max_size=20)  # some of them are unknown to the tokenizer


def continue_tokens(codec: Codec, committed: Sequence[int], text: str, *, final: bool = False) -> list[int]:
    return Tail(codec, committed).continue_with(text, final=final)


def check_prefix(codec: Codec, text: str, cut: int) -> None:
    """Where the committed ids are those of the whole text, so are the drafted ones."""
    ids = codec.encode(text)
    committed = ids[: cut % (len(ids) + 1)]
    written = codec.decode(committed)
    if not text.startswith(written) or "\ufffd" in text:  # the cut is within a character, or looks so
        assert isinstance(continue_tokens(codec, committed, text), list)
        return
    drafted = continue_tokens(codec, committed, text[len(written) :])
    assert [*committed, *drafted] == ids[: len(committed) + len(drafted)]
    assert len(ids) - len(committed) - len(drafted) <= 1
    final = continue_tokens(codec, committed, text[len(written) :], final=True)
    assert [*committed, *final] == ids


@given(text=TEXTS, cut=st.integers(0, 100))
@settings(max_examples=500)
def test_drafted_ids_continue_the_committed_ones_as_in_the_whole_text(text: str, cut: int) -> None:
    check_prefix(tiny.codec(), text, cut)


@pytest.fixture(scope="module", params=["qwen3", "llama3_1"])
def real_codec(request: pytest.FixtureRequest) -> TokenizerCodec:
    return TokenizerCodec(real.tokenizer(request.param))


@given(text=TEXTS, cut=st.integers(0, 100))
@settings(max_examples=300)
def test_so_they_do_with_real_tokenizers(real_codec: TokenizerCodec, text: str, cut: int) -> None:
    check_prefix(real_codec, text, cut)


@given(text=TEXTS, cut=st.integers(0, 100), more=st.sampled_from(["x", '"', " y", "\n", "}", "3"]))
def test_the_withheld_token_is_the_only_one_that_what_follows_may_change(text: str, cut: int, more: str) -> None:
    """Not always so (longer merges exist), but a draft of a call's parts must rarely be wrong at its end."""
    codec = tiny.codec()
    ids = codec.encode(text)
    committed = ids[: cut % (len(ids) + 1)]
    written = codec.decode(committed)
    if text.startswith(written):
        drafted = continue_tokens(codec, committed, text[len(written) :])
        whole = codec.encode(text + more)
        same = next((i for i, (a, b) in enumerate(zip(ids, whole, strict=False)) if a != b), len(ids))
        assert len(committed) + len(drafted) <= same or same < len(ids) - 1


@given(committed=IDS, continuation=TEXTS, final=st.booleans())
def test_any_ids_however_unusually_split_and_any_continuation_give_ids_and_no_error(
    committed: Sequence[int], continuation: str, final: bool
) -> None:
    drafted = continue_tokens(tiny.codec(), committed, continuation, final=final)
    assert tiny.codec().decode(drafted) in continuation or "\ufffd" in tiny.codec().decode(drafted)


def test_a_target_that_splits_its_text_unusually_still_gets_a_draft() -> None:
    codec = tiny.codec()
    letters = [token for char in '{"name": "get_wea' for token in codec.encode(char)]
    assert letters != codec.encode('{"name": "get_wea')
    drafted = continue_tokens(codec, letters, 'ther", "arguments": {', final=True)
    assert codec.decode(drafted) == 'ther", "arguments": {'


def test_after_half_a_character_the_text_before_it_is_no_hindrance() -> None:
    codec = tiny.codec()
    half = codec.encode("🙂")[:2]
    assert codec.decode(half) == "\ufffd"
    assert isinstance(continue_tokens(codec, half, "x", final=True), list)
    assert continue_tokens(codec, codec.encode("é" * 9)[1:], "x", final=True) == codec.encode("x")


def test_an_empty_continuation_drafts_nothing() -> None:
    assert continue_tokens(tiny.codec(), tiny.codec().encode("abc"), "") == []
    assert continue_tokens(tiny.codec(), [], "", final=True) == []


# --- detokenisation -----------------------------------------------------------------------------------------------


def fed(codec: Codec, ids: Sequence[int], watch: bool) -> tuple[str, list[str]]:
    text, stable = OutputText(codec), []
    for token in ids:
        text.append(token)
        if watch:
            stable.append(text.stable)
    return text.text, stable


@given(ids=IDS, watch=st.booleans())
def test_the_text_of_any_ids_equals_decoding_them_at_once(ids: list[int], watch: bool) -> None:
    assert fed(tiny.codec(), ids, watch)[0] == tiny.codec().decode(ids)


@given(text=TEXTS)
def test_stable_text_only_grows_and_is_always_a_beginning_of_the_whole(text: str) -> None:
    whole, stable = fed(tiny.codec(), tiny.codec().encode(text), watch=True)
    for shorter, longer in itertools.pairwise([*stable, whole]):
        assert longer.startswith(shorter)


def test_each_token_costs_the_same_however_long_the_text() -> None:
    decoded = 0

    class Counting:
        def encode(self, text: str) -> list[int]:
            return tiny.codec().encode(text)

        def decode(self, ids: Sequence[int]) -> str:
            nonlocal decoded
            decoded += len(ids)
            return tiny.codec().decode(ids)

    ids: Any = tiny.codec().encode("weather in Paris " * 100)
    fed(Counting(), ids, watch=True)
    assert decoded < 8 * len(ids)
