"""Hints on the channel: what is encoded is what is read, and nothing else is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import tiny
from helpers.strategies import VALUES
from oospec_async.hints import CallHint, Hint, decode_hint, encode_hint

ARGUMENTS = st.dictionaries(st.sampled_from(["city", "days", "unit"]), VALUES)


CALLS = st.builds(CallHint, st.just("get_weather"), ARGUMENTS, st.sampled_from([frozenset(), frozenset({"alerts"})]))


@given(calls=st.lists(CALLS | st.just(CallHint("now")), min_size=1, max_size=5), version=st.integers(0, 9))
def test_a_hint_survives_the_channel(calls: list[CallHint], version: int) -> None:
    hint = Hint(tuple(calls), version)
    assert decode_hint(encode_hint(hint), version, tiny.TOOLS) == hint


def test_a_payload_holds_values_only_and_is_compact() -> None:
    payload = encode_hint(Hint((CallHint("get_weather", {"city": "Köln", "days": 3}),), 7))
    assert payload == '["get_weather",{"city":"Köln","days":3}]'.encode()


def test_a_function_that_is_called_again_is_not_named_again() -> None:
    calls = tuple(CallHint("get_weather", {"city": city}) for city in ("Oslo", "Rome"))
    hint = Hint((*calls, CallHint("now"), calls[0]))
    payload = b'["get_weather",{"city":"Oslo"},{"city":"Rome"},"now",{},"get_weather",{"city":"Oslo"}]'
    assert encode_hint(hint) == payload
    assert decode_hint(payload, 1, tiny.TOOLS) == hint


def test_ready_slots_are_those_with_a_value_and_those_left_out() -> None:
    calls = (CallHint("get_weather", {"city": "Köln"}, frozenset({"unit", "days"})), CallHint("now"))
    assert Hint(calls).ready_slots == 3


@pytest.mark.parametrize(
    ("payload", "read"),
    [
        (b'["get_weather",{"city":"A","town":"B"}]', Hint((CallHint("get_weather", {"city": "A"}),))),
        (b'["rm_rf",{},"now",{}]', Hint((CallHint("now"),))),
        (b'["get_weather",{"city":"A"},["city","days","town",3]]',
         Hint((CallHint("get_weather", {"city": "A"}, frozenset({"days"})),))),
        (b'["get_weather",{"city":"\\ud800","days":1}]', Hint((CallHint("get_weather", {"days": 1}),))),
        (b'["now",{},[],1]', Hint((CallHint("now"),))),
        (b'[[],{},"get_weather",[],{"city":"A"}]', Hint((CallHint("get_weather", {"city": "A"}),))),
    ],
)  # fmt: skip
def test_what_the_tools_do_not_define_is_dropped(payload: bytes, read: Hint) -> None:
    assert decode_hint(payload, 1, tiny.TOOLS) == read


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"null",
        b"3",
        b"{}",
        b'"now"',
        b"[[]]",
        b'["now"]',
        b'[{},["now"]]',
        b'[["now",{}]]',
        b"\xff",
        b"[" * 9999,
    ],
)
def test_without_a_call_of_the_tools_there_is_no_hint(payload: bytes) -> None:
    assert decode_hint(payload, 1, tiny.TOOLS) is None


def test_no_more_calls_are_read_than_an_output_is_likely_to_hold() -> None:
    hint = decode_hint(b"[" + b",".join([b'"now",{}'] * 500) + b"]", 1, tiny.TOOLS)
    assert hint is not None
    assert len(hint.calls) == 16
