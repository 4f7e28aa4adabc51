"""Requests: schemas as they are found in the wild."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from oospec_async.errors import OospecError
from oospec_async.request import Message, Tool, parse_request
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


# A request that has every field which may be left out, and the paths of these.
FULL: dict[str, Any] = {
    "messages": [
        {"role": "user", "content": "Hi", "name": "Ada"},
        {
            "role": "assistant", "content": "So?", "refusal": "No.", "audio": {"id": "a"}, "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "look_up", "arguments": "{}"}}
            ],
        },
    ],
    "tools": [{"type": "function", "strict": True, "function": {**tool({"type": "object"}), "strict": True}}],
    "stop": ["END"],
    "id": "i",
    "max_tokens": 9,
    "max_completion_tokens": 9,
    "tools_in_prompt": True,
    "chat_template_kwargs": {"a": 1},
    "temperature": 0.5,
}  # fmt: skip
OPTIONAL: list[tuple[Any, ...]] = [
    *((key,) for key in FULL if key != "messages"),
    *(("messages", 1, key) for key in ("content", "refusal", "audio", "tool_calls")),
    ("messages", 0, "name"),
    *(("messages", 1, "tool_calls", 0, key) for key in ("id", "type")),
    ("messages", 1, "tool_calls", 0, "function", "arguments"),
    *(("tools", 0, key) for key in ("type", "strict")),
    *(("tools", 0, "function", key) for key in ("description", "parameters", "strict")),
]


@pytest.mark.parametrize("path", OPTIONAL, ids=lambda path: ".".join(map(str, path)))
def test_null_in_any_optional_field_is_the_field_left_out(path: tuple[Any, ...]) -> None:
    given = []
    for is_null in (True, False):
        whole = at = copy.deepcopy(FULL)
        for key in path[:-1]:
            at = at[key]
        if is_null:
            at[path[-1]] = None
        else:
            del at[path[-1]]
        given.append(parse_request(whole, "here"))
    assert given[0] == given[1]
    assert given[0].model_dump() == given[1].model_dump()


def test_a_null_within_arguments_or_a_schema_stays() -> None:
    (request,) = [parse_request(raw(messages=[turn({"name": "f", "arguments": '{"a": null}'})]), "here")]
    assert request.messages[0].as_openai()["tool_calls"][0]["function"]["arguments"] == '{"a": null}'
    assert Tool.model_validate(tool({"default": None})).parameters == {"default": None}


def turn(*functions: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "tool_calls": [{"function": function} for function in functions]}


@pytest.mark.parametrize("arguments", ["", " \n", "null", " null ", None, "{}"])
def test_no_arguments_are_an_empty_object_however_they_are_said(arguments: Any) -> None:
    said, left_out = ({"name": "f", "arguments": arguments}, {"name": "f"})
    messages = parse_request(
        raw(messages=[turn(said), turn(left_out), turn({**left_out, "arguments": {}})]), ""
    ).messages
    assert messages[0] == messages[1] == messages[2]
    assert messages[0].tool_calls is not None
    assert messages[0].tool_calls[0].function.arguments == {}


def test_arguments_that_are_no_json_stay_text_and_a_bare_call_is_one_too() -> None:
    bare = {"role": "assistant", "tool_calls": [{"name": "f", "arguments": "{"}]}
    (message,) = parse_request(raw(messages=[bare]), "here").messages
    assert message.as_openai()["tool_calls"] == [{"function": {"name": "f", "arguments": "{"}}]


PARTS: list[tuple[Any, str]] = [
    ([{"type": "text", "text": "a"}], "a"),
    ([{"type": "text", "text": "a"}, {"type": "input_text", "text": "b\nc"}, {"text": "d"}, "e"], "a\nb\nc\nd\ne"),
    ([{"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}], "a"),
    ([{"type": "refusal", "refusal": "No."}], ""),
    ([], ""),
]


@pytest.mark.parametrize("role", ["system", "developer", "user", "assistant", "tool"])
@pytest.mark.parametrize(("parts", "text"), PARTS)
def test_text_parts_are_the_text_line_by_line(role: str, parts: Any, text: str) -> None:
    assert Message(role=role, content=parts) == Message(role=role, content=text)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ({"type": "image_url", "image_url": {"url": "data:"}}, "part 1 is 'image_url', and only text can be read"),
        ({"type": "input_audio", "input_audio": {}}, "part 1 is 'input_audio'"),
        ({"type": "file", "file": {}}, "part 1 is 'file'"),
        ({"type": "text"}, "part 1 has no text"),
        ({"type": "text", "text": None}, "part 1 has no text"),
        (5, "part 1 is 'int'"),
    ],
)
def test_parts_that_are_no_text_are_refused_by_name(part: Any, said: str) -> None:
    with pytest.raises(OospecError, match=rf"^here: messages\.0\.content: {said}"):
        parse_request(raw(messages=[{"role": "user", "content": [{"type": "text", "text": "a"}, part]}]), "here")


def test_what_a_call_gave_may_be_any_value() -> None:
    assert Message(role="tool", content={"t": "ü"}).content == '{"t": "ü"}'  # type: ignore[arg-type]
    with pytest.raises(OospecError, match=r"messages\.0\.content: text is expected, not dict"):
        parse_request(raw(messages=[{"role": "user", "content": {"t": 1}}]), "here")


def test_messages_keep_what_a_template_may_want_and_extra_fields_are_ignored() -> None:
    call = {"type": "function", "function": {"name": "n", "arguments": {"a": 1}}}
    turns = [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "name": "n", "content": "1"},
    ]
    request = parse_request({"messages": turns, "gold": [], "stop": "END", "tools_in_prompt": True}, "here")
    dumped = [message.model_dump(exclude_none=True) for message in request.messages]
    kept = [{"role": "assistant", "tool_calls": [call]}, turns[1]]
    assert (dumped, request.stop, request.tools_in_prompt) == (kept, ("END",), True)


SCHEMA = {"type": "object", "properties": {"harbour": {"type": "string"}}}


@pytest.mark.parametrize("key", ["parameters", "inputSchema", "input_schema"])
@pytest.mark.parametrize("wrapped", [True, False])
def test_the_schema_may_have_the_name_that_mcp_or_anthropic_gives_it(key: str, wrapped: bool) -> None:
    function = {"name": "f", "description": "d", key: SCHEMA}
    beside = {"type": "function", "function": {"name": "f", "description": "d"}, key: SCHEMA}
    for given in ({"type": "function", "function": function}, beside) if wrapped else (function,):
        assert Tool.model_validate(given) == Tool(name="f", description="d", parameters=SCHEMA)


@pytest.mark.parametrize(
    "lost",
    [
        {"schema": SCHEMA}, {"args": SCHEMA["properties"]}, {"properties": SCHEMA["properties"]},
        {"json_schema": {"$ref": "#/a"}}, {"Parameters": {"type": "dict"}}, {"parameters": None, "params": SCHEMA},
    ],
)  # fmt: skip
def test_a_schema_under_a_name_that_is_not_read_is_refused(lost: dict[str, Any]) -> None:
    key = list(lost)[-1]
    for given in ({"name": "f", **lost}, {"function": {"name": "f", **lost}}, {"function": {"name": "f"}, **lost}):
        with pytest.raises(OospecError) as error:
            parse_request(raw(tools=[given]), "here")
        assert str(error.value) == (
            f"here: tools.0: {key!r} looks like the schema of the arguments; name it 'parameters'"
        )


def test_other_unknown_keys_of_a_tool_are_no_errors() -> None:
    more = {"outputSchema": SCHEMA, "response": SCHEMA, "annotations": {"readOnlyHint": True}, "strict": False}
    assert Tool.model_validate({"name": "f", **more}) == Tool(name="f")
    assert Tool.model_validate({"name": "f", "parameters": {}, "schema": SCHEMA}) == Tool(name="f")


def test_a_line_of_a_batch_is_the_request_in_it() -> None:
    line = {"custom_id": "row-1", "method": "POST", "url": "/v1/chat/completions", "body": raw(model="m", max_tokens=9)}
    assert parse_request(line, "here") == parse_request(raw(max_tokens=9, id="row-1"), "here")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"url": "/v1/embeddings"}, "url: Input should be '/v1/chat/completions', not '/v1/embeddings'"),
        ({"custom_id": None}, "custom_id: missing"),
        ({"body": raw(stop=5)}, "body.stop: a list is expected, not 5"),
    ],
)
def test_what_is_wrong_with_a_line_of_a_batch_is_named(change: dict[str, Any], said: str) -> None:
    with pytest.raises(OospecError) as error:
        parse_request({"custom_id": "row-1", "body": raw(), **change}, "here")
    assert str(error.value) == f"here: {said}"


@pytest.mark.parametrize("name", ["max_new_tokens", "max_tokens", "max_completion_tokens"])
def test_the_limit_may_have_any_of_its_usual_names(name: str) -> None:
    assert parse_request(raw(**{name: 9}), "here").max_new_tokens == 9
