"""Whatever is half-written of an expected object, the continuation completes it to the same value."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.strategies import OBJECTS, OUTPUTS, SPACINGS
from oospec_async.dialects.dialect import Spacing
from oospec_async.dialects.partial_json import Cursor, scan
from oospec_async.dialects.render import Continuation, Partial, Unknown, continue_object, render_object
from oospec_async.request import Json

ONE_LINE = Spacing()


def rest(text: str, expected: dict[str, Any], spacing: Spacing = ONE_LINE) -> Continuation:
    found = scan(text)
    assert isinstance(found, Cursor)
    return continue_object(text, found, expected, spacing)


@given(value=OBJECTS, spacing=SPACINGS)
def test_a_rendered_object_reads_as_the_same_value(value: dict[str, Json], spacing: Spacing) -> None:
    written = render_object(value, spacing)
    assert written.whole
    assert json.loads(written.text) == value


@given(value=OBJECTS, spacing=SPACINGS, known=SPACINGS, data=st.data())
@settings(max_examples=400)
def test_any_beginning_is_completed_to_the_same_value_whatever_spacing_is_known(
    value: dict[str, Json], spacing: Spacing, known: Spacing, data: st.DataObject
) -> None:
    text = render_object(value, spacing).text
    cut = data.draw(st.integers(1, len(text) - 1))
    part = rest(text[:cut], value, known)
    assert part.whole
    assert json.loads(text[:cut] + part.text) == value


@given(value=OBJECTS, spacing=SPACINGS, data=st.data())
def test_with_its_own_spacing_a_beginning_is_completed_to_the_same_text(
    value: dict[str, Json], spacing: Spacing, data: st.DataObject
) -> None:
    text = render_object(value, spacing).text
    cut = data.draw(st.integers(1, len(text) - 1))
    head, tail = text[:cut], rest(text[:cut], value, spacing).text
    assert (head + tail).split() == text.split()


@given(value=OBJECTS, output=OUTPUTS, spacing=SPACINGS)
def test_an_unrelated_beginning_is_left_alone_or_continued_to_something_like_json_but_never_raises(
    value: dict[str, Json], output: str, spacing: Spacing
) -> None:
    found = scan("{" + output)
    if isinstance(found, Cursor):
        continue_object("{" + output, found, value, spacing)


@pytest.mark.parametrize(
    ("text", "more"),
    [
        ('{"name": "f", "arguments": {"a": 1', ', "b": "x"}}'),
        ('{"name":"f","arguments":{"a":1', ',"b":"x"}}'),
        ('{"name": "f", "arguments": {"b": "y"', ', "a": 1}}'),
        ('{"name": "f", "arguments": {"c": true, ', '"a": 1, "b": "x"}}'),
        ('{\n  "name": "f",\n  "arguments": {\n    "a": 1,', '\n    "b": "x"\n  }\n}'),
        ('{"arguments": {"a": 1, "b": "x"}', ', "name": "f"}'),
        ('{"name": "g"', ', "arguments": {"a": 1, "b": "x"}}'),
    ],
)
def test_order_spacing_and_values_written_so_far_are_respected(text: str, more: str) -> None:
    assert rest(text, {"name": "f", "arguments": {"a": 1, "b": "x"}}).text == more


def test_a_string_that_differs_gives_nothing() -> None:
    assert rest('{"a": "Pariz', {"a": "Paris"}).text == ""
    assert rest('{"a": "Pa', {"a": "Paris"}).text == 'ris"}'


def test_escapes_written_otherwise_differ() -> None:
    assert rest('{"a": "S\\u00e3o', {"a": "São"}).text == ""
    assert rest('{"a": "Sã', {"a": "São"}).text == 'o"}'


def test_an_unknown_value_is_opened_and_no_more() -> None:
    part = rest("{", {"a": 1, "b": Unknown('"', "b"), "c": 2})
    assert (part.text, part.whole) == ('"a": 1, "b": "', False)
    assert part.stopped_at is not None
    assert part.stopped_at.slot == "b"


@pytest.mark.parametrize(
    ("text", "more"), [('{"a": 12', ', "b": 1}'), ('{"a": "so far', '", "b": 1}'), ('{"a": "', ""), ('{"a": ', "")]
)
def test_an_unknown_value_that_is_being_written_is_taken_for_finished(text: str, more: str) -> None:
    assert rest(text, {"a": Unknown(), "b": 1}).text == more


def test_a_partial_object_stays_open() -> None:
    part = rest('{"a": {', {"a": Partial({"x": 1}), "b": 2})
    assert (part.text, part.whole) == ('"x": 1', False)


def test_nothing_is_expected_inside_a_container_of_another_kind() -> None:
    assert rest('{"a": [1, ', {"a": {"x": 1}}).text == ""
    assert rest('{"a": {', {"a": [1]}).text == ""
    assert rest('{"a": {"b": {', {"a": 3}).text == ""
