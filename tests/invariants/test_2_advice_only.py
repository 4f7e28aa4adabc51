"""Invariant 2, the core's part: no hint can raise into a request, change its output or cost much time."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given, settings

from helpers import tiny
from helpers.calling import ANSWERS, question
from helpers.loop import setting
from helpers.strategies import OUTPUTS, PAYLOADS
from oospec_async.decoding.state import MAX_NODES
from oospec_async.decoding.verify import Limits
from oospec_async.hints import CallHint, Hint, decode_hint
from oospec_async.testing import state_after

PROMPT = question("plain")
LIMITS = Limits(10_000)


@given(payload=PAYLOADS)
@settings(max_examples=300)
def test_reading_any_payload_never_raises_and_keeps_only_what_the_tools_define(payload: bytes) -> None:
    hint = decode_hint(payload, 1, tiny.TOOLS)
    for call in hint.calls if hint is not None else ():
        tool = next(tool for tool in tiny.TOOLS if tool.name == call.function)
        assert call.arguments.keys() <= {slot.name for slot in tool.slots}
        assert not call.omitted & call.arguments.keys()


@given(payload=PAYLOADS, output=OUTPUTS)
@settings(max_examples=300)
def test_proposing_with_any_payload_after_any_output_never_raises(payload: bytes, output: str) -> None:
    state = state_after(tiny.codec().encode(output), setting(PROMPT, LIMITS, method="oospec"))
    assert len(state.propose(decode_hint(payload, 1, tiny.TOOLS))) <= MAX_NODES + 1


DEEP = "[" * 1000 + "]" * 1000
MONSTERS = {
    "a string of a MiB": json.dumps(["get_weather", {"city": "x" * 2**20}]),
    "an unquoted MiB": "[" * 2**20,
    "nested 1000 levels": f'["get_order", {{"id": {DEEP}}}]',
    "nested 40 levels": f'["get_order", {{"id": {"[" * 40 + "]" * 40}}}]',
    "nested objects": f'["get_order", {{"address": {"{" + chr(34) + "a" + chr(34) + ":" }{DEEP}}}}}]',
    "a lone surrogate": r'["get_weather", {"city": "\ud800"}]',
    "a lone surrogate in a key": r'["get_order", {"address": {"\udc00": 1}}]',
    "not a number": '["get_order", {"id": NaN}]',
    "an endless number": f'["get_order", {{"id": {"9" * 5000}}}]',
    "a very long number": f'["get_order", {{"id": {"9" * 4000}}}]',
    "a number over all floats": '["get_order", {"id": 1e999}]',
    "a thousand calls": json.dumps(["now", {}] * 1000),
    "many items": json.dumps(["get_order", {"id": 1, "items": ["a"] * 2000}]),
    "an unknown function": '["rm_rf", {"path": "/"}]',
    "function of a wrong type": '[{"get_weather": 1}, {}, ["get_weather"], {}, null, {}, 3]',
    "arguments of a wrong type": '["get_weather", "city", "get_weather", null, "get_weather", 3]',
    "omitted of a wrong type": '["get_weather", {}, {"city": 1}, "get_weather", {}, [["city"], {}, 1]]',
    "a mapping": '{"get_weather": {}}',
    "half of it": '["get_weather", {"city": "Pa',
}  # fmt: skip


@pytest.mark.parametrize("monster", MONSTERS)
def test_a_monstrous_hint_costs_little_time_and_few_nodes_at_any_position(monster: str) -> None:
    hint = decode_hint(MONSTERS[monster].encode(), 1, tiny.TOOLS)
    for name in ("plain", "nested", "two"):
        output = tiny.codec().encode(ANSWERS[name])
        for length in range(0, len(output), 7):
            state = state_after(output[:length], setting(PROMPT, LIMITS, method="hint"))
            start = time.process_time()
            tree = state.propose(hint)
            assert time.process_time() - start < 0.5
            assert len(tree) <= MAX_NODES + 1


def test_a_hint_meets_arguments_that_the_target_quotes_as_one_string() -> None:
    """The target may write ``"arguments": "{\\"city\\"…``: no object to join in, so the hint is silent."""
    output = tiny.codec().encode('<tool_call>\n{"name": "get_weather", "arguments": "{\\"ci')
    hint = Hint((CallHint("get_weather", {"city": "Paris"}),))
    state = state_after(output, setting(PROMPT, LIMITS, method="hint"))
    assert len(state.propose(hint)) == 1
