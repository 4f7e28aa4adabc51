"""Answers: when they are finished, and which values they are."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.strategies import OUTPUTS, VALUES
from oospec_async.request import Parameter
from oospec_async.sidecar.answers import Answer, is_finished, read_answer

KINDS = ["string", "integer", "number", "boolean", "array", "object", "any"]
PYTHON: dict[str, tuple[type, ...]] = {
    "string": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,), "array": (list,), "object": (dict,)
}  # fmt: skip


def parameter(kind: str, *, required: bool = False) -> Parameter:
    return Parameter(name="p", schema_={"type": kind}, required=required)


@pytest.mark.parametrize(
    ("text", "finished"),
    [
        ("", False), (" ", False), (" 3", False), (" 3\n", True), (' "a', False), (' "a\\"', False), (' "a"', True),
        (" [1, [2]", False), (" [1, [2]]", True), (' {"a": "}"', False), (' {"a": "}"}', True), (" true", False),
        ("null\n\n", True), ("\n", True), (' "a",', True), (' ["a"]),', True), (" 3, ", False),
    ],
)  # fmt: skip
def test_an_answer_is_finished_with_its_line_or_its_closing_bracket_or_quote(text: str, finished: bool) -> None:
    assert is_finished(text) is finished


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        (' "Paris"', "string", "Paris"), (" Paris\nmore", "string", "Paris"), (" 12", "string", "12"),
        (" 3\n", "integer", 3), (' "3"', "integer", 3), (" 3.0", "integer", 3), (" -7", "integer", -7),
        (" 2.5", "number", 2.5), (" 2", "number", 2), (" true", "boolean", True), (' "False"', "boolean", False),
        (' ["a", 1]', "array", ["a", 1]), (' {"a": {}}', "object", {"a": {}}), (" [1]", "any", [1]),
        (" true", "any", True),
        (' "Paris",', "string", "Paris"), (" 12 monkeys", "string", "12 monkeys"), (' "ã\\u00e3"', "string", "ãã"),
    ],
)  # fmt: skip
def test_the_value_is_read_in_its_kind(text: str, kind: str, value: Any) -> None:
    answer = read_answer(text, parameter(kind))
    assert answer == Answer(value)
    assert answer is not None
    assert type(answer.value) is type(value)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", "string"), ("\n5", "integer"), (" three", "integer"), (" 2.5", "integer"), (" true", "integer"),
        (" 1", "boolean"), (' "a"', "array"), (' "', "string"),
        (' "no end', "string"), (" [1", "array"), (" [1]", "object"), (' "\\ud800"', "string"),
        (" " + "[" * 9999, "array"), (" " + "9" * 5000, "integer"), (' ["\\udfff"]', "array"),
    ],
)  # fmt: skip
def test_what_is_no_value_of_the_kind_is_none(text: str, kind: str) -> None:
    assert read_answer(text, parameter(kind)) is None


@pytest.mark.parametrize("kind", KINDS)
def test_null_leaves_an_optional_argument_out_and_is_no_answer_for_a_required_one(kind: str) -> None:
    assert read_answer(" null\n", parameter(kind)) == Answer(omitted=True)
    assert read_answer(" null\n", parameter(kind, required=True)) is None


@given(text=OUTPUTS | VALUES.map(json.dumps) | st.text(), kind=st.sampled_from(KINDS))
def test_any_text_gives_a_value_of_the_kind_or_none(text: str, kind: str) -> None:
    is_finished(text)
    answer = read_answer(text, parameter(kind))
    if answer is not None and not answer.omitted and kind != "any":
        assert isinstance(answer.value, PYTHON[kind])
