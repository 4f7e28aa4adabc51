"""The scanner says where in a JSON object a half-written text stands, whatever the text."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.strategies import OBJECTS, OUTPUTS, SPACINGS
from oospec_async.dialects.dialect import Spacing
from oospec_async.dialects.partial_json import At, Cursor, Whole, scan, unquote
from oospec_async.dialects.render import render_object
from oospec_async.request import Json


def cursor(text: str) -> Cursor:
    found = scan(text)
    assert isinstance(found, Cursor)
    return found


@given(text=OUTPUTS | st.text(), start=st.integers(0, 30))
def test_scanning_any_text_from_anywhere_never_raises(text: str, start: int) -> None:
    found = scan(text, start)
    if isinstance(found, Whole):
        assert text[start] == "{"
        assert text[found.end - 1] == "}"


@given(value=OBJECTS, spacing=SPACINGS, after=OUTPUTS)
def test_a_whole_object_ends_where_it_ends_whatever_follows(
    value: dict[str, Json], spacing: Spacing, after: str
) -> None:
    text = render_object(value, spacing).text
    found = scan(text + after)
    assert isinstance(found, Whole)
    assert found.end == len(text)
    assert {key: json.loads(raw) for key, raw in found.root.members.items()} == value


@given(value=OBJECTS, spacing=SPACINGS, data=st.data())
def test_every_proper_beginning_of_an_object_gives_a_cursor(
    value: dict[str, Json], spacing: Spacing, data: st.DataObject
) -> None:
    text = render_object(value, spacing).text
    found = scan(text[: data.draw(st.integers(1, len(text) - 1))])
    assert isinstance(found, Cursor)
    finished = {key: json.loads(raw) for key, raw in found.frames[0].members.items()}
    assert finished.items() <= value.items() or finished == {key: value[key] for key in finished}


@pytest.mark.parametrize(
    ("text", "at", "partial"),
    [
        ("{", At.FIRST_KEY, ""),
        ("{ \n", At.FIRST_KEY, ""),
        ('{"na', At.IN_KEY, '"na'),
        ('{"name"', At.COLON, ""),
        ('{"name":', At.VALUE, ""),
        ('{"name": "a\\', At.IN_STRING, '"a\\'),
        ('{"name": "a\\"', At.IN_STRING, '"a\\"'),
        ('{"name": "a\nb', At.IN_STRING, '"a\nb'),
        ('{"n": -1', At.IN_SCALAR, "-1"),
        ('{"n": tru', At.IN_SCALAR, "tru"),
        ('{"n": 1 ', At.AFTER_VALUE, ""),
        ('{"n": 1,', At.KEY, ""),
        ('{"n": [', At.FIRST_ITEM, ""),
        ('{"n": [1,', At.VALUE, ""),
        ('{"n": [1]', At.AFTER_VALUE, ""),
        ('{"n": {}', At.AFTER_VALUE, ""),
    ],
)
def test_the_cursor_says_what_the_text_waits_for(text: str, at: At, partial: str) -> None:
    found = cursor(text)
    assert (found.at, found.partial) == (at, partial)


@pytest.mark.parametrize(
    "text", ["", "x", "[1]", "{,", "{1", '{"a" 1', '{"a": }', '{"a": ]', '{"a": 1]', "{]", '{"a": [}', "{{"]
)
def test_what_cannot_become_an_object_is_none(text: str) -> None:
    assert scan(text) is None


def test_braces_and_brackets_in_strings_close_nothing() -> None:
    text = '{"command": "mkdir -p test/{a,b", "then": "]}"}'
    found = scan(text + " }}")
    assert isinstance(found, Whole)
    assert found.end == len(text)
    assert len(cursor('{"command": "mkdir -p test/{a,b} ]').frames) == 1


def test_frames_run_from_the_outermost_container_inwards() -> None:
    found = cursor('{"name": "f", "arguments": {"list": [1, {"deep": "x')
    assert [frame.key for frame in found.frames] == ["arguments", "list", "1", "deep"]
    assert found.frames[0].members == {"name": '"f"'}
    assert found.frames[2].members == {"0": "1"}


@pytest.mark.parametrize(
    ("raw", "value"), [('"\\u00e3"', "ã"), ('"ã"', "ã"), ('"a\nb"', "a\nb"), ('"\\x"', "\\x"), ('"\\ud83d"', "\ud83d")]
)
def test_unquoting_keeps_invalid_escapes_as_they_stand(raw: str, value: str) -> None:
    assert unquote(raw) == value


def test_nesting_is_not_limited_by_recursion() -> None:
    deep = '{"a":' * 5000
    assert len(cursor(deep).frames) == 5000
    assert isinstance(scan(deep + "1" + "}" * 5000), Whole)
