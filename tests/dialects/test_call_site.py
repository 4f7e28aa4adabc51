"""Calls are found in outputs as models write them: among prose, braces, think blocks and wrappers."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.strategies import OUTPUTS
from oospec_async.dialects.call_site import locate
from oospec_async.toolcall import ToolCall, parse_calls

CALL = '{"name": "f", "arguments": {"a": 1}}'


@given(text=OUTPUTS | st.text(), thinking=st.booleans())
def test_locating_in_any_text_never_raises(text: str, thinking: bool) -> None:
    site = locate(text, thinking=thinking)
    assert 0 <= site.start <= len(text)
    assert 0 <= site.after <= len(text)
    assert parse_calls(text) is not None


def calls(text: str) -> list[tuple[str, Any]]:
    return [(call.name, call.arguments) for call in parse_calls(text)]


@pytest.mark.parametrize(
    "text",
    [
        CALL,
        f"<tool_call>\n{CALL}\n</tool_call>",
        f"```json\n{json.dumps(json.loads(CALL), indent=4)}\n```",
        '{"name": "f", "parameters": {"a": 1}}',
        '{"function": "f", "arguments": {"a": 1}}',
        '{"arguments": {"a": 1}, "name": "f"}',
        f"[{CALL}]",
        f'{{"tool_calls": [{CALL}]}}',
        '{"type": "function", "function": ' + CALL + "}",
        '{"name": "f", "arguments": "{\\"a\\": 1}"}',
        f"Braces {{like these}} or }} {{ alone. {CALL} And }}.",
        f'An object {{"x": 1}} first, then {CALL}',
        f"<think>I might {{do}} this: {CALL.replace('1', '2')}</think>\n{CALL}",
        f"<think>Unsure {{</think>\n\n{CALL}",
        '{"id": 7, "name": "f", "arguments": {"a": 1}}',
    ],
)
def test_one_call_in_many_guises(text: str) -> None:
    assert calls(text) == [("f", {"a": 1})]


def test_an_argument_with_unbalanced_braces_does_not_end_its_call() -> None:
    text = '<tool_call>\n{"name": "bash", "arguments": {"command": "mkdir -p test/{a,b", "n": 1}}\n</tool_call>'
    assert calls(text) == [("bash", {"command": "mkdir -p test/{a,b", "n": 1})]


def test_a_call_without_arguments_is_kept() -> None:
    assert parse_calls('<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call>') == [ToolCall("now", {})]


@pytest.mark.parametrize("written", ["São Köln", "S\\u00e3o K\\u00f6ln"])
def test_escaped_and_plain_characters_read_alike_and_once(written: str) -> None:
    assert calls(f'{{"name": "f", "arguments": {{"city": "{written}"}}}}') == [("f", {"city": "São Köln"})]


def test_second_and_later_calls_are_found_in_order() -> None:
    many = "\n".join(f'<tool_call>\n{{"name": "f{n}", "arguments": {{"n": {n}}}}}\n</tool_call>' for n in range(4))
    assert calls(many) == [(f"f{n}", {"n": n}) for n in range(4)]
    assert calls(f"[{CALL}, {CALL}]") == [("f", {"a": 1})] * 2
    assert calls(f"{CALL}; {CALL}") == [("f", {"a": 1})] * 2


@pytest.mark.parametrize(
    "text",
    [
        "",
        "No calls {here}.",
        '{"name": "f"}',
        '{"name": 3, "arguments": {}}',
        '{"name": "f", "arguments": [1]}',
        '{"name": "f", "arguments": "no object"}',
        '{"name": "f", "arguments": {"a": 1}',
        f"<think>{CALL}",
        f"<think>{CALL}</think> nothing after all",
        '{"name": "f", "arguments": {"a": ' + "[" * 3000 + "]" * 3000 + "}}",
    ],
)
def test_what_is_no_call(text: str) -> None:
    assert calls(text) == []


def test_a_think_block_that_the_prompt_opened_holds_no_call() -> None:
    text = f"I could say {CALL} but"
    assert locate(text, thinking=True).thinking
    assert locate(text, thinking=True).calls == ()
    assert len(locate(f"{text}</think>\n{CALL}", thinking=True).calls) == 1
    assert not locate(f"{text}</think>\n{CALL}", thinking=True).thinking


def test_the_cursor_is_in_the_call_that_is_being_written() -> None:
    text = f'{CALL}\n{{"name": "g", "argu'
    site = locate(text)
    assert len(site.calls) == 1
    assert site.cursor is not None
    assert text[site.start :].startswith('{"name": "g"')


def test_an_object_that_is_no_call_has_no_cursor_but_a_call_within_it_has() -> None:
    assert locate('So {"x": ').cursor is None
    site = locate('{"tool_calls": [{"name": "f", "arg')
    assert site.cursor is not None
    assert site.start == len('{"tool_calls": [')


@pytest.mark.parametrize("text", ["{", 'prose {"na', '{"', '{"arguments": {', '{"parameters"'])
def test_what_may_become_a_call_has_a_cursor(text: str) -> None:
    assert locate(text).cursor is not None


def test_deep_or_broken_nesting_is_scanned_in_bearable_time() -> None:
    assert locate('{"a":' * 300).cursor is None
    assert locate("{" * 50_000).calls == ()
