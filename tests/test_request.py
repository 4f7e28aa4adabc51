"""Requests: schemas as they are found in the wild."""

from __future__ import annotations

from typing import Any

import pytest

from oospec_async.errors import OospecError
from oospec_async.request import Tool, parse_request
from oospec_async.schema import kind_of


def raw(**fields: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": "Hi"}], **fields}


def tool(parameters: Any = None, name: str = "look_up") -> dict[str, Any]:
    return {"name": name, "description": "Look something up.", "parameters": parameters}


KINDS: dict[str, list[Any]] = {
    "string": ["string", "String", "str", ["string", "null"]],
    "integer": ["integer", "long"],
    "number": ["float", "double"],
    "boolean": ["Boolean"],
    "array": ["array", "tuple", "ArrayList", "list(str)", "list[dict]"],
    "object": ["dict", "HashMap"],
    "any": ["any", "", "no such type", ["string", "integer"], [["string"]], None, 7, {}],
}


@pytest.mark.parametrize(("kind", "declared"), [(kind, each) for kind, names in KINDS.items() for each in names])
def test_kinds_are_read_off_whatever_a_schema_calls_its_types(kind: str, declared: Any) -> None:
    assert kind_of({"type": declared}) == kind


@pytest.mark.parametrize("schema", [None, [], "string", {}, {"kind": "string"}])
def test_a_schema_without_a_type_is_of_any_kind(schema: Any) -> None:
    assert kind_of(schema) == "any"


def slots(**parameters: Any) -> list[tuple[str, bool]]:
    """Names of a tool's slots, and whether each is required."""
    return [(slot.name, slot.required) for slot in Tool.model_validate(tool(parameters)).slots]


def test_slots_follow_the_schema_and_keep_what_it_says() -> None:
    properties = {
        "size": {"type": "float", "description": "In m²."},
        "colour": {"type": "string", "enum": ["rot", "grün"]},
        "anything": {"type": "any"},
    }
    found = Tool.model_validate(tool({"type": "dict", "properties": properties, "required": ["colour"]})).slots
    assert [(s.name, s.kind, s.required, s.enum) for s in found] == [
        ("size", "number", False, []),
        ("colour", "string", True, ["rot", "grün"]),
        ("anything", "any", False, []),
    ]
    assert found[0].description == "In m²."


@pytest.mark.parametrize("required", ["a", {"a": True}, True, ["a", 1], [["a"]], None])
def test_a_required_that_is_no_list_of_names_requires_nothing(required: Any) -> None:
    assert slots(properties={"a": {}}, required=required) == slots(properties={"a": {}}) == [("a", False)]


def test_a_required_name_that_is_no_property_is_not_a_slot() -> None:
    assert slots(properties={"a": {}}, required=["a", "b"]) == [("a", True)]


@pytest.mark.parametrize("properties", [["a"], "a", 3, None, {}])
def test_properties_that_are_no_object_have_no_slots(properties: Any) -> None:
    assert slots(properties=properties, required=["a"]) == []


@pytest.mark.parametrize("schema", ["string", None, ["string"], {"enum": "red", "description": 5, "type": {}}])
def test_a_property_that_is_no_schema_is_a_slot_about_which_nothing_is_known(schema: Any) -> None:
    (slot,) = Tool.model_validate(tool({"properties": {"a": schema}})).slots
    assert (slot.kind, slot.enum, slot.description) == ("any", [], "")


def test_the_schema_reaches_the_prompt_as_it_was_written() -> None:
    parameters = {"type": "dict", "properties": {"x": {"type": "float", "optional": True}}, "required": "x"}
    function = Tool.model_validate(tool(parameters, "math.hypot")).as_openai()["function"]
    assert function == tool(parameters, "math.hypot")


def test_tools_are_taken_wrapped_and_bare_and_found_by_name() -> None:
    request = parse_request(raw(tools=[{"type": "function", "function": tool(name="a.b")}, tool(name="c")]), "here")
    assert [t.name for t in request.tools] == ["a.b", "c"]
    assert request.tool("a.b") is request.tools[0]
    assert request.tool("a") is None


def test_null_stands_for_absent() -> None:
    request = parse_request(raw(tools=None, stop=None, chat_template_kwargs=None), "here")
    assert request == parse_request(raw(), "here")
    assert (request.tools, request.stop, request.chat_template_kwargs) == ((), (), {})
    for one in (Tool.model_validate({"name": "n", "description": None, "parameters": None}), Tool(name="n")):
        assert (one.description, one.slots) == ("", ())


def test_messages_keep_what_a_template_may_want_and_extra_fields_are_ignored() -> None:
    call = {"type": "function", "function": {"name": "n", "arguments": {"a": 1}}}
    turns = [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "name": "n", "content": "1"},
    ]
    request = parse_request({"messages": turns, "gold": [], "stop": "END", "tools_in_prompt": True}, "here")
    dumped = [message.model_dump(exclude_unset=True) for message in request.messages]
    assert (dumped, request.stop, request.tools_in_prompt) == (turns, ("END",), True)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ([], "here: a JSON object with 'messages' and 'tools' is expected, not list"),
        (raw(tools={}), "here: tools: a list is expected, not dict"),
    ],
)
def test_an_error_names_the_place_and_the_field(value: Any, expected: str) -> None:
    """All that is refused is in ``test_read_requests.py``."""
    with pytest.raises(OospecError) as error:
        parse_request(value, "here")
    assert str(error.value) == expected


@pytest.mark.parametrize("name", ["max_new_tokens", "max_tokens", "max_completion_tokens"])
def test_the_limit_may_have_any_of_its_usual_names(name: str) -> None:
    assert parse_request(raw(**{name: 9}), "here").max_new_tokens == 9
