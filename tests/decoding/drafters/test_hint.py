"""The hint drafter writes the sidecar's values on from wherever the target stands, in the target's own style."""

from __future__ import annotations

import pytest

from helpers import tiny
from helpers.calling import ANSWERS, KOELN, ORDER, PARIS
from helpers.drafts import candidates, hint, texts
from oospec_async.decoding.drafters.hint import HintDrafter
from oospec_async.hints import Hint

WEATHER = '<tool_call>\n{"name": "get_weather", "arguments": {'
END = "}}\n</tool_call>"
ONE = hint(("get_weather", PARIS["arguments"]))
TWO = hint(("get_weather", PARIS["arguments"]), ("get_order", {"id": 7}))


def only(after: str, given: object = ONE) -> str:
    """The one continuation that is drafted, "" where there is none."""
    found = texts("hint", after, hint=given)
    assert len(found) <= 1
    return found[0] if found else ""


def test_without_a_hint_nothing_is_drafted() -> None:
    assert candidates("hint", WEATHER) == []


@pytest.mark.parametrize("name", ["plain", "unicode", "nested", "two"])
def test_a_right_hint_drafts_the_rest_of_the_output_from_every_position(name: str) -> None:
    calls = {"plain": [PARIS], "unicode": [KOELN], "nested": [ORDER], "two": [PARIS, KOELN]}[name]
    given = hint(*((call["name"], call["arguments"]) for call in calls))
    ids = tiny.codec().encode(ANSWERS[name])
    for cut in range(len(ids) + 1):
        written = tiny.codec().decode(ids[:cut])
        rests = {tuple(c.tokens) for c in candidates("hint", ids[:cut], hint=given)}
        if not written.endswith("\ufffd") and cut < len(ids):
            assert tuple(ids[cut:]) in rests, written


def test_a_new_output_may_begin_in_either_of_two_dialects() -> None:
    first, second = texts("hint", "", hint=ONE)
    assert first == ANSWERS["plain"]
    assert second == ANSWERS["fenced"]


@pytest.mark.parametrize(
    ("written", "rest"),
    [
        ('"city": "Lon', '", "days": 3, "unit": "celsius", "alerts": true'),
        ('"city": "London"', ', "days": 3, "unit": "celsius", "alerts": true'),
        ('"city": "London", ', '"days": 3, "unit": "celsius", "alerts": true'),
        ('"city": "Paris", "days": 35', ', "unit": "celsius", "alerts": true'),
        ('"days": ', '3, "city": "Paris", "unit": "celsius", "alerts": true'),
        ('"town": 3, ', '"city": "Paris", "days": 3, "unit": "celsius", "alerts": true'),
        ('"city": ["Paris"], ', '"days": 3, "unit": "celsius", "alerts": true'),
        ('"city": "P", "days": 1, "unit": "k", ', '"alerts": true'),
    ],
)
def test_after_a_value_key_or_order_unlike_its_own_the_hint_joins_in_again(written: str, rest: str) -> None:
    assert only(WEATHER + written) == rest + END


@pytest.mark.parametrize("written", ['"city": [', '"city": {"name": "P', '"days": [1, "x', '"town": {"a": '])
def test_inside_a_container_unlike_its_own_value_the_hint_is_silent(written: str) -> None:
    assert only(WEATHER + written) == ""


def test_a_differing_value_is_less_sure_to_end_than_the_hints_own_is_to_go_on() -> None:
    (right,) = candidates("hint", WEATHER + '"city": "Par', hint=ONE)
    (other,) = candidates("hint", WEATHER + '"city": "Lon', hint=ONE)
    assert other.prior < right.prior


@pytest.mark.parametrize("given", [hint(("get_weather", {}), omitted=["city", "days"]), hint(("get_weather", {}))])
def test_a_value_that_the_hint_does_not_hold_is_as_unsure_to_end(given: Hint) -> None:
    """Whether it says that the slot is left out, or has not told it yet."""
    differing = candidates("hint", WEATHER + '"city": "Lon', hint=ONE)[0].prior
    assert candidates("hint", WEATHER + '"city": "Lon', hint=given)[0].prior == differing < 0.3
    assert candidates("hint", WEATHER + '"city": "Londonderry', hint=ONE)[0].prior < differing


@pytest.mark.parametrize("written", ['"get_order"', '"get_order", "arguments": {', '"get_o', '"now", "arguments": '])
def test_where_the_target_chose_another_function_the_hint_is_silent(written: str) -> None:
    assert only('<tool_call>\n{"name": ' + written) == ""


def test_an_omitted_slot_is_left_out() -> None:
    given = hint(("get_weather", {"city": "Köln", "days": 2}), omitted=["unit", "alerts"])
    assert only(WEATHER, given) == '"city": "Köln", "days": 2' + END


def test_an_optional_slot_that_is_not_ready_is_left_out_too() -> None:
    assert only(WEATHER, hint(("get_weather", {"city": "Köln"}))) == '"city": "Köln"' + END


def test_a_required_slot_that_is_not_ready_stops_the_draft_before_its_value() -> None:
    rest = only(WEATHER, hint(("get_weather", {"days": 3})))
    assert '"city":'.startswith(rest.rstrip())
    assert rest
    assert only(WEATHER + '"city": "anything", ', hint(("get_weather", {"days": 3}))) == '"days": 3' + END


def test_a_required_slot_that_is_omitted_stops_nothing() -> None:
    assert only(WEATHER, hint(("get_weather", {"days": 3}), omitted=["city"])) == '"days": 3' + END


def test_several_calls_follow_each_other() -> None:
    second = '{"name": "get_order", "arguments": {"id": 7}}\n</tool_call>'
    assert only(WEATHER + '"city": "Paris", "days": 3, "unit": "celsius", "alerts": true', TWO).endswith(second)
    assert only(ANSWERS["plain"], TWO) == "\n<tool_call>\n" + second
    assert only(ANSWERS["plain"] + "\n<tool_call>\n", TWO) == second
    assert only(ANSWERS["plain"] + '\n<tool_call>\n{"name": "get_order", "arguments": {"id": ', TWO) == "7" + END


def test_after_the_last_call_only_what_is_left_of_its_closer_is_drafted() -> None:
    assert only(ANSWERS["plain"].removesuffix("</tool_call>")) == "</tool_call>"
    assert only(ANSWERS["plain"]) == ""
    assert only(ANSWERS["plain"] + '\n<tool_call>\n{"name": "get_order"') == ""


@pytest.mark.parametrize("text", ["<think>", '<think>\n<tool_call>\n{"name": ', "Well, ", "Let {x"])
def test_while_the_target_thinks_or_talks_the_hint_waits(text: str) -> None:
    assert "Paris" not in only(text)


def test_after_thinking_or_when_a_call_visibly_begins_it_is_drafted() -> None:
    assert texts("hint", "<think>hm</think>\n\n", hint=ONE)[0] == ANSWERS["plain"]
    assert only("Well, <tool") == ANSWERS["plain"].removeprefix("<tool")


def test_a_prompt_that_opened_a_think_block_makes_it_wait() -> None:
    prompt = tiny.codec().encode("<|im_start|>assistant\n<think>\n")
    assert candidates("hint", "", hint=ONE, prompt=prompt) == []
    assert candidates("hint", "So.</think>\n\n", hint=ONE, prompt=prompt) != []


@pytest.mark.parametrize(
    ("written", "rest"),
    [
        ('{"name":"get_weather","arguments":{"city":', '"Paris","days":3,"unit":"celsius","alerts":true}}'),
        ('{"name": "get_weather", "parameters": {"city": "Paris"', ', "days": 3, "unit": "celsius", "alerts": true}}'),
        ('{"arguments": {"city": "Paris", "days": 3, "unit": "celsius", "alerts": true}', ', "name": "get_weather"}'),
        ('[{"name": "get_weather", "arguments": {"city": "P", "days": 3, "unit": "celsius", "alerts": t', "rue}}]"),
        (ANSWERS["fenced"][:30], ANSWERS["fenced"][30:]),
    ],
)
def test_keys_order_and_spacing_are_those_that_the_target_writes(written: str, rest: str) -> None:
    assert only(written) == rest


def test_it_is_registered_under_its_name() -> None:
    assert HintDrafter().name == "hint"
