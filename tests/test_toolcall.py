"""Calls of an output, told from what only looks like one by the tools on offer."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from helpers.strategies import OUTPUTS
from oospec_async.request import Tool
from oospec_async.toolcall import InvalidCall, ToolCall, parse_calls

TIDE = Tool(
    name="tide",
    description="High tide.",
    parameters={"type": "object", "properties": {"harbour": {"type": "string"}}, "required": ["harbour"]},
)
NOON = Tool(name="noon", description="Is it noon?", parameters={"type": "object", "properties": {}})
PING = Tool(name="ping", description="Ping.")
GENERIC = Tool(name="define", parameters={"properties": {"type": {"type": "string"}, "properties": {"type": "object"}}})
TOOLS = (TIDE, NOON, PING, GENERIC)
NOT_OFFERED, DEFINITION = "no function of this name is on offer", "it is a definition of the function, not a call"


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>\n{"name": "noon"}\n</tool_call>',
        '<tool_call>\n{"name": "noon", "arguments": null}\n</tool_call>',
        '<tool_call>\n{"name": "noon", "arguments": ""}\n</tool_call>',
        '<tool_call>{"name": "noon", "parameters": "  "}</tool_call>',
        '<tool_call>{"arguments": "null", "name": "noon"}</tool_call>',
        '{"type": "function", "function": {"name": "noon"}}',
        '[{"id": "c1", "type":"function", "function":\n{"name": "noon"}}]',
        '{"type": "function", "function": {"name": "noon", "arguments": ""}}',
        '{"type": "function", "name": "noon", "parameters": null}',
        '{"function": "noon", "arguments": "{}"}',
    ],
)
def test_a_call_without_arguments_passes_none(text: str) -> None:
    assert parse_calls(text, tools=TOOLS) == parse_calls(text) == [ToolCall("noon", {})]


@pytest.mark.parametrize("text", ['{"name": "noon"}', '{"type": "function", "name": "noon"}', '{"function": "noon"}'])
def test_a_bare_name_is_a_call_where_it_is_on_offer(text: str) -> None:
    assert parse_calls(text, tools=TOOLS) == [ToolCall("noon", {})]
    assert parse_calls(text, tools=[TIDE]) == parse_calls(text) == []


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "noon", "age": 36}',
        '{"name": ["noon"]}',
        '{"function": {"name": "noon"}, "arguments": {"a": 1}}',
        '{"name": "noon", "description": "Is it noon?"}',
        '{"name": "noon", "arguments": [1]}',
        '{"name": "noon", "arguments": "later"}',
        '<think>{"name": "noon"}',
    ],
)
def test_a_name_among_other_things_is_no_call(text: str) -> None:
    found = parse_calls(text, tools=TOOLS)
    assert (found, found.invalid) == ([], ())


@pytest.mark.parametrize("tool", [TIDE, NOON, PING])
@pytest.mark.parametrize("bare", [True, False])
def test_a_definition_repeated_is_told_apart(tool: Tool, bare: bool) -> None:
    written = tool.as_openai()["function"] if bare else tool.as_openai()
    found = parse_calls(f"These: {json.dumps(written, indent=2)}", tools=TOOLS)
    assert (found, found.invalid) == ([], (InvalidCall(tool.name, tool.parameters, DEFINITION),))


@pytest.mark.parametrize(
    "text",
    ['{"name": "Ada", "parameters": {"age": 36}}', '<tool_call>{"name": "Ada", "arguments": {"age": 36}}</tool_call>'],
)
@pytest.mark.parametrize("tools", [TOOLS, ()])
def test_what_calls_nothing_on_offer_is_told_apart(text: str, tools: Any) -> None:
    found = parse_calls(text, tools=tools)
    assert (found, found.invalid) == ([], (InvalidCall("Ada", {"age": 36}, NOT_OFFERED),))


def test_calls_keep_their_order_among_what_is_none() -> None:
    written = [{"name": name, "arguments": {"harbour": name}} for name in ("tide", "none", "noon", "tide")]
    found = parse_calls("\n".join(map(json.dumps, written)), tools=TOOLS)
    assert [call.name for call in found] == ["tide", "noon", "tide"]
    assert [call.name for call in found.invalid] == ["none"]


def test_a_function_whose_arguments_look_like_a_schema_can_be_called() -> None:
    arguments = {"type": "object", "properties": {"a": {"type": "string"}}}
    assert parse_calls(json.dumps({"name": "define", "arguments": arguments}), tools=TOOLS) == [
        ToolCall("define", arguments)
    ]
    assert parse_calls('{"name": "ping", "parameters": {}}', tools=TOOLS) == [ToolCall("ping", {})]


@given(text=OUTPUTS)
def test_nothing_that_is_read_without_tools_is_lost_with_them(text: str) -> None:
    found = parse_calls(text, tools=TOOLS)
    for call in parse_calls(text):
        assert call in [*found, *(ToolCall(each.name, each.arguments) for each in found.invalid)]
