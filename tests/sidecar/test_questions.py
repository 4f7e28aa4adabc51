"""What the sidecar is asked: short, one line per function and message."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given

from helpers import tiny
from helpers.strategies import VALUES
from oospec_async.request import Message, Request, Tool
from oospec_async.sidecar.questions import EXAMPLE, Question, Slot, function_question, prefix, slot_question


def test_a_function_is_one_line_with_kinds_options_and_what_may_be_left_out() -> None:
    assert prefix(tiny.request("Where?")).splitlines() == [
        "Functions:",
        'get_weather(city: string, days?: integer, unit?: "celsius" or "kelvin", alerts?: boolean)'
        " - Weather of a place",
        "get_order(id: integer, items?: array of string, address?: object) - Look up an order",
        "now() - The time",
        "",
        "Conversation:",
        "user: Where?",
        "",
        "Calls that answer the last message:",
    ]


def test_a_question_names_function_and_parameter() -> None:
    slot = Slot("get_weather", tiny.WEATHER.slots[1])
    assert slot_question(slot) == Question("get_weather:", " days =")
    assert slot_question(replace(slot, call=2)).stem == "get_weather (2):"
    assert function_question(1) == Question("call", " 1 =")


def test_the_example_is_written_like_a_prefix_and_its_questions() -> None:
    assert EXAMPLE.startswith("Functions:\nalarm.set(minutes: integer (from now)")
    assert "alarm.set: days = null\n" in EXAMPLE


def test_messages_are_one_line_each_and_empty_ones_are_left_out() -> None:
    messages = (
        Message(role="user", content="two\nlines"),
        Message(role="assistant", content=None),
        Message(role="tool", content={"t": "ü"}),
    )
    lines = prefix(Request(messages=messages)).splitlines()
    assert "user: two lines" in lines
    assert 'tool: {"t": "ü"}' in lines
    assert not any(line.startswith("assistant") for line in lines)


def test_long_descriptions_and_messages_are_cut() -> None:
    tool = Tool(name="f", description="word " * 500, parameters={"properties": {"a": {"description": "long " * 500}}})
    text = prefix(tiny.request("start " + "x" * 9000 + " end", tools=(tool,)))
    assert len(text) < 2400
    assert " end\n" in text
    assert "start" not in text


@given(schema=VALUES)
def test_any_schema_can_be_asked_about(schema: Any) -> None:
    parameters = {"properties": {"a": schema, "b": {"enum": schema, "type": schema, "items": schema}}}
    request = tiny.request(tools=(Tool(name="f", parameters=parameters),))
    assert "f(a" in prefix(request)
    for slot in request.tools[0].slots:
        slot_question(Slot("f", slot))
