"""Files of requests, as editors and operating systems leave them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oospec_async.errors import OospecError
from oospec_async.request import Request, read_requests

EXAMPLES = Path(__file__).parent.parent / "examples" / "requests.jsonl"


def raw(content: str = "Hi", **fields: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": content}], **fields}


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


@pytest.mark.parametrize("content", ["", "\n \n", "\ufeff", "\r\n"])
def test_a_file_without_requests_is_refused(path: Path, content: str) -> None:
    path.write_text(content, encoding="utf-8")
    with pytest.raises(OospecError, match=r"requests\.jsonl: no requests in this file"):
        read_requests(path)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("{", "3: not JSON (Expecting property name enclosed in double quotes at column 2); one request a line"),
        ('"Hi"', "3: a JSON object with 'messages' and 'tools' is expected, not 'Hi'"),
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
