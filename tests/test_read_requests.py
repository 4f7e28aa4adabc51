"""Files of requests, as editors and operating systems leave them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oospec_async.errors import OospecError
from oospec_async.request import Request
from oospec_async.request_file import read_request_file, read_requests

EXAMPLES = Path(__file__).parent.parent / "examples" / "requests.jsonl"


def raw(content: str = "Hi", **fields: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": content}], **fields}


def line(**fields: Any) -> bytes:
    return json.dumps(raw(**fields)).encode()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "requests.jsonl"


def test_requests_without_an_id_are_named_by_file_and_line(path: Path) -> None:
    path.write_text(f"{json.dumps(raw(id='first'))}\n\n  \n{json.dumps(raw())}\n")
    assert [request.id for request in read_requests(path)] == ["first", "requests-4"]


TEXT = "Wie warm ist es in Köln? 天气 ☂ a\u2028b\u2029c\x85d"


@pytest.mark.parametrize("start", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("last", [True, False])
def test_text_survives_and_line_ends_and_byte_order_marks_do_not_matter(
    path: Path, start: str, end: str, last: bool
) -> None:
    lines = [json.dumps(raw(TEXT, id=name), ensure_ascii=False) for name in ("a", "b")]
    path.write_bytes((start + end.join(lines) + end * last).encode())
    assert [(request.id, request.messages[0].content) for request in read_requests(path)] == [("a", TEXT), ("b", TEXT)]


def test_a_bad_line_costs_the_others_nothing(path: Path) -> None:
    path.write_bytes(
        b"\n".join([line(id="a"), b"{oops", line(id=5), line(id="a"), line(id="bad", stop=5), line(id="b")])
    )
    found = read_request_file(path)
    assert [request.id for request in found.requests] == ["a", "b"]
    assert found.places == {"a": f"{path}:1", "b": f"{path}:6"}
    assert [failure.request for failure in found.refused] == ["requests-2", "requests-3", "a", "bad"]
    said = ["2: not JSON", "3: id: text is expected, not 5", "4: id 'a' is used twice", "5: stop: a list is expected"]
    assert all(f.error.startswith(f"{path}:{start}") for f, start in zip(found.refused, said, strict=True))
    with pytest.raises(OospecError, match=r":2: not JSON"):
        read_requests(path)


def test_a_batch_is_known_by_its_lines(path: Path) -> None:
    path.write_text("".join(f"{json.dumps({'custom_id': n, 'body': raw()})}\n" for n in ("r1", "r2", "")))
    found = read_request_file(path)
    assert ([request.id for request in found.requests], found.is_batch) == (["r1", "r2"], True)
    assert found.refused[0].error.startswith(f"{path}:3: custom_id: ")
    path.write_bytes(line())
    assert not read_request_file(path).is_batch


DEEP = b"[" * 3000 + b"]" * 3000
# A file, and what its line says after the file's name.
FILES: list[tuple[bytes, str]] = [
    (b"{", ":1: not JSON (Expecting property name enclosed in double quotes at column 2); one request a line"),
    (line()[:-9], ":1: not JSON"),
    (json.dumps([raw()], indent=1).encode(), ":1: not JSON"),
    (line() + line(), ":1: not JSON"),
    (line() + b"\n]", ":2: not JSON"),
    (b'{"messages": "\xff\xfe"}', ": not UTF-8 at byte 14; save the file as UTF-8"),
    (("\ufeff" + line().decode()).encode("utf-16"), ": not UTF-8"),
    (b"\x89PNG\r\n\x1a\n\0\0", ": not UTF-8"),
    (b"", ": no requests in this file"),
    (b"\n \r\n\t\n", ": no requests in this file"),
    ("\ufeff".encode(), ": no requests in this file"),
    (b"[]", ":1: a JSON object with 'messages' and 'tools' is expected, not list"),
    (b'"hi"', ":1: a JSON object with 'messages' and 'tools' is expected, not 'hi'"),
    (b"null", ":1: a JSON object with 'messages' and 'tools' is expected, not None"),
    (b'{"tools": []}', ":1: messages: missing"),
    (line(id="a") + b"\n\n" + line(id="a"), ":3: id 'a' is used twice; ids must differ"),
    (b'{"messages": ' + DEEP + b"}", ":1: nested too deeply; at most 100 levels are read"),
    (b"[" * 100_000, ":1: nested too deeply; at most 100 levels are read"),
    (b'{"a":' * 200 + b"1" + b"}" * 200, ":1: nested too deeply; at most 100 levels are read"),
    (b'{"messages": [{"role": "user", "content": NaN}]}', ":1: messages.0.content: nan is not a JSON number"),
    (b'{"top_p": 1e999}', ":1: top_p: inf is not a JSON number"),
    (rb'{"messages": [{"content": "\ud800"}]}', ":1: messages.0.content: half of a surrogate pair is not text"),
    (rb'{"messages": [], "a\nb": "\ud800"}', r":1: 'a\nb': half of a surrogate pair is not text"),
    (rb'{"\udc00": 1}', r":1: '\udc00': half of a surrogate pair is not text"),
    (b'{"max_new_tokens": ' + b"9" * 5000 + b"}", ":1: a number has too many digits"),
]
# What is wrong in a request that is fine otherwise.
FIELDS: list[tuple[dict[str, Any], str]] = [
    ({"messages": []}, "messages: should not be empty"),
    ({"messages": "hi"}, "messages: a list is expected, not 'hi'"),
    ({"messages": ["hi"]}, "messages.0: an object is expected, not 'hi'"),
    ({"messages": [{"content": "hi"}]}, "messages.0.role: missing"),
    ({"messages": [{"role": "robot"}]}, "messages.0.role: Input should be 'system', "),
    ({"tools": {}}, "tools: a list is expected, not dict"),
    ({"tools": ["f"]}, "tools.0: an object is expected, not 'f'"),
    ({"tools": [{"description": "d"}]}, "tools.0.name: missing"),
    ({"tools": [{"type": "function", "function": {}}]}, "tools.0.name: missing"),
    ({"tools": [{"name": ""}]}, "tools.0.name: String should have at least 1 character"),
    ({"tools": [{"name": 5}]}, "tools.0.name: text is expected, not 5"),
    ({"tools": [{"name": "f"}, {"name": "f"}]}, "tools: two tools are named 'f'; rename or remove one"),
    ({"tools": [{"name": "f", "parameters": []}]}, "tools.0.parameters: an object is expected, not list"),
    ({"max_new_tokens": 0}, "max_new_tokens: Input should be greater than or equal to 1, not 0"),
    ({"max_new_tokens": True}, "max_new_tokens: a whole number is expected, not True"),
    ({"max_tokens": "9"}, "max_tokens: a whole number is expected, not '9'"),
    ({"stop": 5}, "stop: a list is expected, not 5"),
    ({"stop": ["a", 5]}, "stop.1: text is expected, not 5"),
    ({"stop": ["a", ""]}, "stop.1: String should have at least 1 character"),
    ({"id": 5}, "id: text is expected, not 5"),
    ({"tools_in_prompt": "perhaps"}, "tools_in_prompt: "),
]
FILES += [(line(**fields), f":1: {said}") for fields, said in FIELDS]


@pytest.mark.parametrize(("content", "said"), FILES, ids=[said for _, said in FILES])
def test_what_is_wrong_is_named_by_file_line_and_field(path: Path, content: bytes, said: str) -> None:
    path.write_bytes(content)
    with pytest.raises(OospecError) as error:
        read_requests(path)
    assert str(error.value).startswith(f"{path}{said}")
    assert "\n" not in str(error.value)


def test_what_is_not_a_readable_file_is_named(tmp_path: Path, path: Path) -> None:
    with pytest.raises(OospecError, match=r"requests\.jsonl: cannot read requests: No such file"):
        read_requests(path)
    with pytest.raises(OospecError, match="cannot read requests: Is a directory"):
        read_requests(tmp_path)


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
