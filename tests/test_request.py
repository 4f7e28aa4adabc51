"""Requests: schemas as they are found in the wild, and files as editors and operating systems leave them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oospec_async.errors import OospecError
from oospec_async.request import Request, Tool, kind_of, parse_request, read_requests

EXAMPLES = Path(__file__).parent.parent / "examples" / "requests.jsonl"


def raw(**fields: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": "Hi"}], **fields}


def tool(parameters: Any = None, name: str = "look_up") -> dict[str, Any]:
    return {"name": name, "description": "Look something up.", "parameters": parameters}


def written(path: Path, *rows: Any) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "requests.jsonl"


@pytest.mark.parametrize(
    ("declared", "kind"),
    [
        ("string", "string"),
        ("String", "string"),
        ("str", "string"),
        ("integer", "integer"),
        ("long", "integer"),
        ("float", "number"),
        ("double", "number"),
        ("Boolean", "boolean"),
        ("array", "array"),
        ("tuple", "array"),
        ("ArrayList", "array"),
        ("list(str)", "array"),
        ("list[dict]", "array"),
        ("dict", "object"),
        ("HashMap", "object"),
        ("any", "any"),
        ("", "any"),
        ("no such type", "any"),
        (["string", "null"], "string"),
        (["string", "integer"], "any"),
        ([["string"]], "any"),
        (None, "any"),
        (7, "any"),
    ],
)
def test_kinds_are_read_off_whatever_a_schema_calls_its_types(declared: Any, kind: str) -> None:
    assert kind_of({"type": declared}) == kind


@pytest.mark.parametrize("schema", [None, [], "string", {}, {"kind": "string"}])
def test_a_schema_without_a_type_is_of_any_kind(schema: Any) -> None:
    assert kind_of(schema) == "any"


def test_slots_follow_the_schema_and_keep_what_it_says() -> None:
    schema = {
        "type": "dict",
        "properties": {
            "size": {"type": "float", "description": "In m²."},
            "colour": {"type": "string", "enum": ["rot", "grün"]},
            "anything": {"type": "any"},
        },
        "required": ["colour"],
    }
    slots = Tool.model_validate(tool(schema)).slots
    assert [(s.name, s.kind, s.required, s.enum) for s in slots] == [
        ("size", "number", False, []),
        ("colour", "string", True, ["rot", "grün"]),
        ("anything", "any", False, []),
    ]
    assert slots[0].description == "In m²."


@pytest.mark.parametrize("parameters", [None, {}, {"type": "dict"}, {"type": "object", "properties": {}}])
def test_a_tool_may_have_no_parameters(parameters: Any) -> None:
    assert Tool.model_validate(tool(parameters)).slots == ()
    assert Tool.model_validate({"name": "look_up"}).slots == ()


def test_without_required_nothing_is_required() -> None:
    (slot,) = Tool.model_validate(tool({"properties": {"a": {"type": "string"}}})).slots
    assert not slot.required


@pytest.mark.parametrize("required", ["a", {"a": True}, True, ["a", 1], [["a"]], None])
def test_a_required_that_is_no_list_of_names_requires_nothing(required: Any) -> None:
    (slot,) = Tool.model_validate(tool({"properties": {"a": {"type": "string"}}, "required": required})).slots
    assert not slot.required


def test_a_required_name_that_is_no_property_is_not_a_slot() -> None:
    slots = Tool.model_validate(tool({"properties": {"a": {}}, "required": ["a", "b"]})).slots
    assert [s.name for s in slots] == ["a"]


@pytest.mark.parametrize("properties", [["a"], "a", 3, None])
def test_properties_that_are_no_object_have_no_slots(properties: Any) -> None:
    assert Tool.model_validate(tool({"properties": properties, "required": ["a"]})).slots == ()


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
    request = parse_request(raw(tools=None, stop=None), "here")
    assert (request.tools, request.stop, request.tools_in_prompt) == ((), (), False)
    assert Tool.model_validate({"name": "n", "description": None, "parameters": None}).description == ""


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
        ([], "here: a request is a JSON object with 'messages' and 'tools', not list"),
        ({"tools": []}, "here: messages: missing"),
        (raw(messages=[]), "here: messages: should not be empty"),
        (raw(messages="Hi"), "here: messages: should be a list"),
        (raw(messages=[{"role": "robot", "content": "Hi"}]), "here: messages.0.role: Input should be 'system', "),
        (raw(tools={}), "here: tools: should be a list"),
        (raw(tools=[{"description": "d"}]), "here: tools.0.name: missing"),
        (raw(tools=[tool(), tool(name="")]), "here: tools.1.name: String should have at least 1 character"),
        (raw(tools=[tool(parameters=["a"])]), "here: tools.0.parameters: Input should be a valid dictionary"),
        (raw(tools=[tool(), tool()]), "here: tools: two tools are named 'look_up'; rename or remove one"),
        (raw(max_new_tokens=0), "here: max_new_tokens: Input should be greater than or equal to 1"),
        (raw(max_new_tokens=True), "here: max_new_tokens: Input should be a valid integer"),
        (raw(stop=["END", ""]), "here: stop: a stop string must not be empty"),
        (raw(id=7), "here: id: Input should be a valid string"),
    ],
)
def test_an_error_names_the_place_and_the_field(value: Any, expected: str) -> None:
    with pytest.raises(OospecError) as error:
        parse_request(value, "here")
    assert str(error.value).startswith(expected)
    assert "\n" not in str(error.value)


def test_requests_without_an_id_are_named_by_file_and_line(path: Path) -> None:
    path.write_text(f"{json.dumps(raw(id='first'))}\n\n  \n{json.dumps(raw())}\n")
    assert [request.id for request in read_requests(path)] == ["first", "requests-4"]


def test_text_beyond_ascii_survives(path: Path) -> None:
    text = "Wie warm ist es in Köln? 天气 ☂ a\u2028b\u2029c\x85d"
    (request,) = read_requests(written(path, raw(messages=[{"role": "user", "content": text}])))
    assert request.messages[0].content == text


@pytest.mark.parametrize("start", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("last", [True, False])
def test_line_ends_and_byte_order_marks_do_not_matter(path: Path, start: str, end: str, last: bool) -> None:
    lines = [json.dumps(raw(id="a")), json.dumps(raw(id="b"))]
    path.write_bytes((start + end.join(lines) + end * last).encode())
    assert [request.id for request in read_requests(path)] == ["a", "b"]


@pytest.mark.parametrize("content", ["", "\n \n", "\ufeff", "\r\n"])
def test_a_file_without_requests_is_refused(path: Path, content: str) -> None:
    path.write_text(content, encoding="utf-8")
    with pytest.raises(OospecError, match=r"requests\.jsonl: no requests in this file"):
        read_requests(path)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("{", "3: not JSON (Expecting property name enclosed in double quotes at column 2); one request a line"),
        ('"Hi"', "3: a request is a JSON object with 'messages' and 'tools', not str"),
        ('{"messages": []}', "3: messages: should not be empty"),
        ('{"id": "a", "messages": [{"role": "user"}]}', "3: id 'a' is used twice; ids must differ"),
        ('{"messages": [{"role": "user", "content": "\\ud800"}]}', "3: messages.0.content: half of a surrogate pair"),
        ('{"messages": [], "a\\nb": "\\ud800"}', "3: 'a\\nb': half of a surrogate pair"),
        ('{"\\udc00": 1}', "3: '\\udc00': half of a surrogate pair"),
        ('{"top_p": NaN}', "3: top_p: nan is not a JSON number"),
        ('{"top_p": 1e999}', "3: top_p: inf is not a JSON number"),
        ("[" * 200 + "]" * 200, "3: nested too deeply; at most 100 levels are read"),
        ("[" * 100_000, "3: nested too deeply; at most 100 levels are read"),
        ("1" * 5000, "3: a number has too many digits"),
    ],
)
def test_an_error_in_a_file_names_the_line(path: Path, line: str, expected: str) -> None:
    path.write_text(f"{json.dumps(raw(id='a'))}\n\n{line}\n")
    with pytest.raises(OospecError) as error:
        read_requests(path)
    assert str(error.value).startswith(f"{path}:{expected}")
    assert "\n" not in str(error.value)


def test_what_is_not_a_readable_file_is_named(tmp_path: Path, path: Path) -> None:
    with pytest.raises(OospecError, match=r"requests\.jsonl: cannot read requests: No such file"):
        read_requests(path)
    with pytest.raises(OospecError, match="cannot read requests: Is a directory"):
        read_requests(tmp_path)
    path.write_bytes(b'{"messages": "K\xf6ln"}')
    with pytest.raises(OospecError, match=r"requests\.jsonl: not UTF-8 at byte 15; save the file as UTF-8"):
        read_requests(path)


def test_the_examples_are_short_requests_with_telling_ids() -> None:
    requests = read_requests(EXAMPLES)
    assert len(requests) == 12
    for request in requests:
        assert request.tools
        assert 64 <= request.max_new_tokens <= 160
        assert request.id == request.id.lower()
        assert "-" in request.id
    kinds = {slot.kind for request in requests for tool in request.tools for slot in tool.slots}
    assert kinds == {"string", "integer", "number", "boolean", "array", "object"}


KEYS = ["messages", "tools", "role", "content", "name", "function", "parameters", "properties", "required", "enum"]
KEYS += ["type", "description", "max_new_tokens", "stop", "id", "tools_in_prompt"]
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(["user", "dict"])
JSON = st.recursive(
    LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(KEYS) | st.text(), inner), max_leaves=12
)
NEARLY = st.fixed_dictionaries(
    {"messages": st.lists(st.fixed_dictionaries({"role": st.just("user"), "content": JSON}), min_size=1, max_size=2)},
    optional={
        "tools": st.lists(st.fixed_dictionaries({"name": st.text(), "parameters": JSON}), max_size=2),
        "stop": JSON,
        "id": st.text(),
        "max_new_tokens": st.integers(),
    },
)


@settings(deadline=None)
@given(value=JSON | NEARLY, ascii_only=st.booleans())
def test_any_json_value_on_a_line_parses_or_is_refused(
    tmp_path_factory: pytest.TempPathFactory, value: Any, ascii_only: bool
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.jsonl"
    path.write_text(json.dumps(value, ensure_ascii=ascii_only), encoding="utf-8", errors="replace")
    check(path)


@settings(deadline=None)
@given(data=st.binary(max_size=60) | st.text(max_size=60).map(lambda text: text.encode(errors="replace")))
def test_any_bytes_parse_or_are_refused(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any.jsonl"
    path.write_bytes(data)
    check(path)


def check(path: Path) -> None:
    """What parses can be used and written again; what does not is refused in one line."""
    problem, requests = "", []
    try:
        requests = read_requests(path)
    except OospecError as error:
        problem = str(error)
    assert "\n" not in problem
    for request in requests:
        for one in request.tools:
            assert all(slot.kind and slot.enum is not None and slot.description is not None for slot in one.slots)
            json.dumps(one.as_openai(), allow_nan=False)
        written_again = json.dumps(request.model_dump(), ensure_ascii=False, allow_nan=False).encode()
        assert Request.model_validate_json(written_again) == request


@pytest.mark.parametrize("name", ["max_new_tokens", "max_tokens", "max_completion_tokens"])
def test_the_limit_may_have_any_of_its_usual_names(name: str) -> None:
    raw = {"messages": [{"role": "user", "content": "hi"}], name: 9}
    assert parse_request(raw, "here").max_new_tokens == 9
