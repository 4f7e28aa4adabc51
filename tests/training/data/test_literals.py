"""Python text of public sets, well-formed and not."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oospec_async.training.data.readers.literals import Unreadable, literal, loose_literal, python_calls
from oospec_async.training.records import Call


@pytest.mark.parametrize(
    ("text", "calls", "repaired"),
    [
        ("[Water(litres='2', bed=\"Joe's\")]", [("Water", {"litres": "2", "bed": "Joe's"})], False),
        ("[A(x=1), A(x=2.5), B()]", [("A", {"x": 1}), ("A", {"x": 2.5}), ("B", {})], False),
        ("[A(x=['a', {'b': None}], y=True, z=-1)]", [("A", {"x": ["a", {"b": None}], "y": True, "z": -1})], False),
        ("[A(patient=John Smith)]", [("A", {"patient": "John Smith"})], True),
        ("[A(at=2034-01-01 10:00:00, n=3, who='x')]", [("A", {"at": "2034-01-01 10:00:00", "n": 3, "who": "x"})], True),
        ("[A(id=ABC123)]", [("A", {"id": "ABC123"})], True),
        ("[A(id=<Id of B>, to=next Monday)]", [("A", {"id": "<Id of B>", "to": "next Monday"})], True),
        ("A(city=New York)", [("A", {"city": "New York"})], True),
        ("A(city='Oslo')", [("A", {"city": "Oslo"})], True),
        ("[A(x=None)]", [("A", {"x": None})], False),
        ("[a.b(x=f(1))]", [("a.b", {"x": "f(1)"})], True),
    ],
)
def test_calls_are_read_by_rule(text: str, calls: Any, repaired: bool) -> None:
    read, fixed = python_calls(text)
    assert [(each.name, each.arguments) for each in read] == calls
    assert fixed == repaired


@pytest.mark.parametrize("text", ["", "nothing", "[A(1)]", "[A(**x)]", "[A(", "[]", "[1]", "[A(Oslo)]"])
def test_what_is_no_call_is_refused(text: str) -> None:
    with pytest.raises(Unreadable):
        python_calls(text)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


@given(JSON)
def test_a_literal_is_the_value_that_it_stands_for(value: Any) -> None:
    assert literal(repr(value)) == value
    assert json.dumps(literal(repr(value))) == json.dumps(value)


@given(st.dictionaries(st.from_regex(r"[a-z]{1,5}", fullmatch=True).filter(str.isidentifier), JSON, max_size=4))
def test_calls_written_as_python_are_read_back(arguments: dict[str, Any]) -> None:
    keywords = [f"{key}={value!r}" for key, value in arguments.items() if key not in {"if", "in", "is", "as", "or"}]
    kept = {key: value for key, value in arguments.items() if f"{key}={value!r}" in keywords}
    try:
        compile(f"A({', '.join(keywords)})", "", "eval")
    except SyntaxError:  # another keyword of the language
        return
    assert python_calls(f"[A({', '.join(keywords)})]") == ([Call(name="A", arguments=kept)], False)


@pytest.mark.parametrize("text", ["{'a': int}", "__import__('os').abort()", "{1, 2}", "b'2'", "1e999", "(" * 5000, ""])
def test_what_has_no_json_form_is_none(text: str) -> None:
    assert literal(text) is None


def test_bare_names_and_apostrophes_are_text_where_that_is_allowed() -> None:
    assert loose_literal("{'type': str}") == {"type": "str"}
    assert loose_literal("{'about': 'The user's city, don't guess.'}") == {"about": "The user's city, don't guess."}
    assert loose_literal("{'about': 'x'") is None
