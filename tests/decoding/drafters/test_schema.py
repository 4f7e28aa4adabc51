"""The schema drafter writes the literal parts of calls, from the committed text alone."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.calling import ANSWERS
from helpers.drafts import candidates, texts
from helpers.strategies import OUTPUTS, VALUES
from oospec_async.request import Tool

CALL = '<tool_call>\n{"name": '
WEATHER = CALL + '"get_weather", "arguments": {'
ORDER = CALL + '"get_order", "arguments": {'


def drafted(after: str, **more: Any) -> set[str]:
    return set(texts("schema", after, **more))


def test_a_new_output_may_call_any_function_in_the_likeliest_dialects() -> None:
    found = drafted("")
    assert '<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call>' in found
    assert '```json\n{\n  "name": "now",\n  "arguments": {}\n}\n```' in found
    assert any(text.startswith('<tool_call>\n{"name": "get_weather", "arguments": {"city"') for text in found)
    assert any(text.startswith('<tool_call>\n{"name": "get_order", "arguments": {"id"') for text in found)


@pytest.mark.parametrize(
    ("after", "begins"),
    [
        (CALL, {'"get_weather", "arg', '"get_order", "arg', '"now", "arg'}),
        (CALL + '"get_', {'weather", "arg', 'order", "arg'}),
        (CALL + '"get_weather"', {', "arguments": {"city"'}),
        (CALL + '"now", ', {'"arguments": {}}'}),
        (WEATHER, {'"city"'}),
        (WEATHER + '"city": "Par', {'", "days"', '"}}'}),
        (WEATHER + '"city": "Paris"', {', "days"', "}}"}),
        (WEATHER + '"city": "Paris", "da', {'ys"'}),
        (
            WEATHER + '"city": "Paris", "days": 3',
            {', "unit": "celsius", "alerts"', ', "unit": "kelvin", "alerts"', "}}"},
        ),
        (WEATHER + '"city": "Paris", "unit": "kel', {'vin", "days"', 'vin"}}'}),
        (WEATHER + '"city": "Paris", "alerts": ', {"true", "false"}),
        (WEATHER + '"unit": "celsius", ', {'"city"'}),
        (ORDER + '"id": 3, ', {'"items"'}),
        (ORDER + '"id": 3, "items": [], "address": {', {'"street"'}),
        (ORDER + '"id": 3, "items": [], "address": {"street": "x", ', {'"zip"'}),
    ],
)
def test_names_keys_and_enumerated_values_are_drafted_with_their_alternatives(after: str, begins: set[str]) -> None:
    found = drafted(after)
    for begin in begins:
        assert any(text.startswith(begin) for text in found), found
    assert all(any(text.startswith(begin) for begin in begins) for text in found), found


def test_after_an_unexpected_key_the_expected_ones_follow() -> None:
    assert drafted(WEATHER + '"town": ') == set()
    (next_key,) = drafted(WEATHER + '"town": "P", ')
    assert '"city":'.startswith(next_key)


def test_after_a_rejected_draft_the_next_one_starts_from_what_was_committed() -> None:
    """The target chose the second function and an optional key first, against every draft."""
    found = drafted(ORDER + '"items": ["a"]')
    assert any(text.startswith((', "address": {"street"', ', "id"')) for text in found)
    assert not any("city" in text for text in found)


def test_a_second_call_is_drafted_like_the_first() -> None:
    first = ANSWERS["plain"]
    assert any(text.startswith('\n<tool_call>\n{"name": "get_order"') for text in drafted(first))
    assert any(text.startswith('"city"') for text in drafted(first + "\n" + WEATHER))


@pytest.mark.parametrize("call", ['{"name": "now"}', '{"name": "now", "arguments": null}'])
def test_after_a_call_without_arguments_the_output_may_end(call: str) -> None:
    assert "\n</tool_call>" in drafted("<tool_call>\n" + call)


def test_a_function_that_is_not_offered_gets_no_arguments() -> None:
    assert drafted(CALL + '"rm_rf", "arguments": {') == set()


@pytest.mark.parametrize("text", ["<think>", "<think>\n" + CALL, "Let me see. ", "So {x: "])
def test_nothing_is_drafted_into_thoughts_and_prose(text: str) -> None:
    assert drafted(text) == set()


def test_without_tools_nothing_is_drafted() -> None:
    assert drafted("", tools=()) == set()


def test_an_array_value_is_not_confused_with_its_options() -> None:
    tool = Tool(name="f", parameters={"properties": {"a": {"type": "array", "enum": ["x"], "items": {"enum": ["y"]}}}})
    assert not any("x" in text or "y" in text for text in drafted('{"name": "f", "arguments": {"a": ', tools=[tool]))


ODD_SCHEMAS: dict[str, Any] = {
    "properties is a list": {"properties": ["a"]},
    "a parameter is no schema": {"properties": {"a": 3, "b": None, "c": "string"}},
    "enum is no list": {"properties": {"a": {"type": "string", "enum": "x"}}},
    "empty enum": {"properties": {"a": {"type": "string", "enum": []}}},
    "enum of everything": {"properties": {"a": {"enum": [None, True, 1.5, {"x": [1]}, [], "z"]}}},
    "enum of a wrong type": {"properties": {"a": {"type": "integer", "enum": ["one", "two"]}}},
    "required that does not exist": {"properties": {"a": {"type": "boolean"}}, "required": ["b"]},
    "required is no list": {"properties": {"a": {}}, "required": "a"},
    "recursive in depth": {"properties": {"a": {"type": "object", "properties": {"a": {"type": "object"}}}}},
    "properties of a string": {"properties": {"a": {"type": "string", "properties": {"b": {"type": "integer"}}}}},
    "types listed": {"properties": {"a": {"type": ["string", "null"]}, "b": {"type": [["string"]]}}},
}


@pytest.mark.parametrize("schema", ODD_SCHEMAS.values(), ids=ODD_SCHEMAS.keys())
def test_schemas_that_are_malformed_or_lie_never_raise(schema: dict[str, Any]) -> None:
    tool = Tool(name="f", parameters={"type": "object", **schema})
    for arguments in (
        "",
        "{",
        '{"a": ',
        '{"a": "',
        '{"a": {"',
        '{"a": [1, ',
        '{"a": {"b": 1}, "',
        '{"a": 1}',
        "[1",
        '"{',
    ):
        for candidate in candidates("schema", '<tool_call>\n{"name": "f", "arguments": ' + arguments, tools=[tool]):
            assert candidate.tokens


@given(schema=VALUES, output=OUTPUTS)
def test_no_schema_and_no_output_make_it_raise(schema: Any, output: str) -> None:
    parameters = {"type": "object", "properties": {"city": schema, "b": {"properties": schema}}, "required": schema}
    candidates("schema", output, tools=[Tool(name="get_weather", parameters=parameters), Tool(name='od"d\n')])


@given(count=st.integers(1, 40))
def test_however_many_functions_are_offered_few_are_drafted(count: int) -> None:
    tools = [Tool(name=f"f{n}") for n in range(count)]
    assert len(candidates("schema", "", tools=tools)) <= 3 * (8 + 1)


CRATES = [
    Tool(
        name=f"count_crates_{n:03}",
        parameters={"properties": {f"bay_{n}": {"type": "string"}}, "required": [f"bay_{n}"]},
    )
    for n in range(120)
]


@pytest.mark.parametrize("wanted", [0, 8, 87, 119])
def test_of_many_functions_those_are_drafted_that_fit_what_is_written(wanted: int) -> None:
    name = CRATES[wanted].name
    for begun in (name[:-1], name):
        found = drafted(f'{CALL}"{begun}', tools=CRATES)
        assert any((begun + text).startswith(name) for text in found) == (wanted % 10 < 8 or begun == name)
        assert len(found) <= 16
    assert any(name in text for text in drafted(f'{{"arguments": {{"bay_{wanted}": "x"', tools=CRATES))


@pytest.mark.parametrize("after", ["", "<tool_", CALL, CALL + '"cou', '{"arguments": {}, '])
def test_what_many_functions_begin_with_is_as_likely_as_the_name_of_the_only_one(after: str) -> None:
    def likeliest(tools: list[Tool]) -> float:
        return max(candidate.prior for candidate in candidates("schema", after, tools=tools))

    assert likeliest(CRATES) == likeliest(CRATES[:1])
    best = texts("schema", after, tools=CRATES)[0]
    assert (after + best).endswith('"count_crates')  # the token after it may be cut, and is withheld


def test_one_function_that_fits_among_many_is_as_likely_as_the_only_one() -> None:
    (best, *_) = sorted(candidates("schema", f'{CALL}"count_crates_087', tools=CRATES), key=lambda c: -c.prior)
    assert best.prior == candidates("schema", f'{CALL}"count_crates_087', tools=CRATES[87:88])[0].prior


BERTHS = [f"berth {n}" for n in range(60)]


@pytest.mark.parametrize(
    ("values", "begun", "rest"),
    [(BERTHS, '"berth 5', "6"), (list(range(100, 300)), "28", "7"), ([*[1.5] * 9, 2.5], "2", ".5")],
)
def test_of_many_enumerated_values_those_are_drafted_that_fit_what_is_written(
    values: list[Any], begun: str, rest: str
) -> None:
    inner = {"type": "object", "properties": {"b": {"enum": values}, "c": {}}}
    for schema, written in (({"enum": values}, begun), (inner, '{"b": ' + begun)):
        tools = [Tool(name="f", parameters={"properties": {"a": schema}})]
        found = texts("schema", '{"name": "f", "arguments": {"a": ' + written, tools=tools)
        assert any(text.startswith(rest) for text in found)
        assert len(found) <= 16
