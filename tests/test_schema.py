"""Schemas as generators write them say the same as the plain ones that people write."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from helpers.drafts import candidates
from helpers.strategies import VALUES
from oospec_async.request import Request, Tool
from oospec_async.schema import kind_of, plain
from oospec_async.sidecar.questions import prefix

BERTH = {"type": "string", "enum": ["north", "south"]}
STREET, NUMBER = {"street": {"type": "string"}}, {"no": {"type": "integer"}}
ADDRESS = {"type": "object", "properties": {**STREET, **NUMBER}, "required": ["no"]}
CODES = {"type": "integer", "enum": [1, 9007199254740993]}
DEFINITIONS = {
    "Codes": CODES,
    "Berth": BERTH,
    "Address": ADDRESS,
    "Again": {"$ref": "#/$defs/Berth"},
    "a/b~c d": {"type": "integer"},
    "Ship": {"type": "object", "properties": {"home": {"$ref": "#/$defs/Address"}, "berth": {"$ref": "#/$defs/Berth"}}},
}
SHIP = {"type": "object", "properties": {"home": ADDRESS, "berth": BERTH}}

PAIRS: dict[str, tuple[Any, Any]] = {
    "a reference": ({"$ref": "#/$defs/Berth"}, BERTH),
    "a reference to a reference": ({"$ref": "#/$defs/Again"}, BERTH),
    "a reference with words of its own": ({"$ref": "#/$defs/Berth", "default": "south"}, {**BERTH, "default": "south"}),
    "a reference to an odd name": ({"$ref": "#/$defs/a~1b~0c%20d"}, {"type": "integer"}),
    "a reference to a property": ({"$ref": "#/properties/after"}, {"type": "boolean"}),
    "a reference into a list": ({"$ref": "#/properties/listed/anyOf/1"}, {"type": "number"}),
    "references within references": ({"$ref": "#/$defs/Ship"}, SHIP),
    "items by reference": ({"type": "array", "items": {"$ref": "#/$defs/Berth"}}, {"type": "array", "items": BERTH}),
    "anyOf with null": (
        {"anyOf": [{"type": "string"}, {"type": "null"}], "default": 1},
        {"type": "string", "default": 1},
    ),
    "anyOf with null, by reference": ({"anyOf": [{"$ref": "#/$defs/Address"}, {"type": "null"}]}, ADDRESS),
    "anyOf with const null": ({"anyOf": [{"const": None}, BERTH]}, BERTH),
    "anyOf of numbers": ({"anyOf": [{"type": "integer"}, {"type": "number"}]}, {"type": "number"}),
    "anyOf of one kind": ({"anyOf": [{"type": "string", "format": "date"}, {"type": "string"}]}, {"type": "string"}),
    "anyOf of several kinds": ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, {}),
    "anyOf of everything": ({"anyOf": [{"type": "string"}, True]}, {}),
    "anyOf with an impossible one": ({"anyOf": [BERTH, False]}, BERTH),
    "a name or another": ({"anyOf": [BERTH, {"type": "string"}]}, {"type": "string"}),
    "oneOf of consts": ({"oneOf": [{"const": "north", "title": "N"}, {"const": "south"}]}, BERTH),
    "oneOf of enums": ({"oneOf": [{"enum": ["north"]}, {"const": "south", "type": "string"}]}, BERTH),
    "allOf of one": ({"allOf": [{"$ref": "#/$defs/Berth"}], "default": "north"}, {**BERTH, "default": "north"}),
    "allOf of two": (
        {"allOf": [{"type": "object", "properties": STREET}, {"properties": NUMBER, "required": ["no"]}]},
        ADDRESS,
    ),
    "allOf of two enums": ({"allOf": [{"enum": ["east", "north", "south"]}, BERTH]}, BERTH),
    "const": ({"const": "north"}, {"type": "string", "enum": ["north"]}),
    "const with enum": ({"const": 2, "enum": [2], "type": "integer"}, {"type": "integer", "enum": [2]}),
    "const of truth": ({"const": True}, {"type": "boolean", "enum": [True]}),
    "types listed": ({"type": ["integer", "number", "null"]}, {"type": "number"}),
    "an enum of numbers": ({"$ref": "#/$defs/Codes"}, CODES),
    "true": (True, {}),
    "false": (False, {}),
}


def tool(schema: Any) -> Tool:
    more = {"after": {"type": "boolean"}, "listed": {"anyOf": [{"type": "string"}, {"type": "number"}]}}
    parameters = {"type": "object", "$defs": DEFINITIONS, "properties": {"slot": schema, **more}, "required": ["slot"]}
    return Tool(name="moor", parameters=parameters)


@pytest.mark.parametrize(("generated", "written"), PAIRS.values(), ids=PAIRS)
def test_drafts_questions_and_masks_are_those_of_the_plain_form(generated: Any, written: Any) -> None:
    one, other = tool(generated), tool(written)
    for found, expected in zip(one.slots, other.slots, strict=True):
        assert (found.kind, found.enum, found.required) == (expected.kind, expected.enum, expected.required)
    assert asked(one) == asked(other)
    for after in ("", '"', '"no', "1", "9", '{"', '{"home": {"', "[", "tr"):
        text = '<tool_call>\n{"name": "moor", "arguments": {"slot": ' + after
        assert candidates("schema", text, tools=[one]) == candidates("schema", text, tools=[other])


def asked(offered: Tool) -> str:
    return prefix(Request.model_validate({"messages": [{"role": "user", "content": "Moor."}], "tools": [offered]}))


def test_the_parameters_themselves_may_be_a_reference_or_parts() -> None:
    referred = Tool(name="f", parameters={"$ref": "#/definitions/A", "definitions": {"A": ADDRESS}})
    parts = {
        "allOf": [{"properties": STREET}],
        "properties": NUMBER,
        "required": ["no"],
    }
    for each in (referred, Tool(name="f", parameters=parts)):
        assert [(slot.name, slot.kind, slot.required) for slot in each.slots] == [
            ("street", "string", False),
            ("no", "integer", True),
        ]


def test_the_prompt_shows_the_schema_as_it_was_written() -> None:
    schema = {"properties": {"a": {"$ref": "#/$defs/B"}}, "$defs": {"B": BERTH}}
    assert Tool(name="f", parameters=schema).as_openai()["function"]["parameters"] == schema


def test_recursion_ends_where_it_begins_again() -> None:
    node = {"type": "object", "properties": {"name": {"type": "string"}, "next": {"$ref": "#/$defs/Node"}}}
    (slot,) = Tool(name="f", parameters={"properties": {"n": {"$ref": "#/$defs/Node"}}, "$defs": {"Node": node}}).slots
    assert slot.schema_ == {**node, "properties": {"name": {"type": "string"}, "next": {"type": "object"}}}


CIRCLES: dict[str, Any] = {
    "itself": {"$ref": "#/$defs/x"},
    "two": {"$ref": "#/$defs/y"},
    "the whole": {"$ref": "#"},
    "in allOf": {"allOf": [{"$ref": "#/$defs/x"}]},
    "in anyOf": {"anyOf": [{"$ref": "#/$defs/x"}, {"type": "null"}]},
    "nowhere": {"$ref": "#/$defs/none"},
    "another document": {"$ref": "https://example.org/x.json"},
    "no text": {"$ref": ["#"]},
    "no lists": {"allOf": {"a": 1}, "anyOf": "x", "oneOf": None, "type": {"a": 1}},
    "of nothing": {"allOf": [], "anyOf": [], "oneOf": [None, 3, "x", []]},
    "many that name each other": {"properties": {f"p{n}": {"$ref": f"#/$defs/d{n}"} for n in range(30)}},
}


@pytest.mark.parametrize("schema", CIRCLES.values(), ids=CIRCLES)
def test_circles_and_lies_are_advice(schema: Any) -> None:
    definitions = {"x": schema, "y": {"$ref": "#/$defs/x"}} | {f"d{n}": schema for n in range(30)}
    found = Tool(name="f", parameters={"properties": {"a": schema}, "$defs": definitions})
    assert [slot.name for slot in found.slots] == ["a"]
    candidates("schema", '{"name": "f", "arguments": {"a": {"', tools=[found])


@given(schema=VALUES)
def test_what_has_no_other_words_stays_as_it_is(schema: Any) -> None:
    assert plain({"type": "object", "properties": {"a": schema}}) == {"type": "object", "properties": {"a": schema}}
    kind_of(plain({"anyOf": schema, "allOf": [schema], "$ref": schema, "const": schema, "oneOf": [schema, schema]}))
