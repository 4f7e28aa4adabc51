"""Calls as values: what a finished output asks for."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from oospec_async.dialects.call_site import FoundCall, locate
from oospec_async.request import Json, Tool


@dataclass(frozen=True)
class ToolCall:
    name: str
    arguments: dict[str, Json]


@dataclass(frozen=True)
class InvalidCall(ToolCall):
    """What is written as calls are, and is no call of a function on offer; ``reason`` says why."""

    reason: str


class ToolCalls(list[ToolCall]):
    """The calls of an output; ``invalid`` holds what they were told from, if the tools on offer were known."""

    def __init__(self, calls: Iterable[ToolCall], invalid: Iterable[InvalidCall] = ()) -> None:
        super().__init__(calls)
        self.invalid = tuple(invalid)


def parse_calls(text: str, *, thinking: bool = False, tools: Sequence[Tool] | None = None) -> ToolCalls:
    """The calls in a finished output, in order, in whatever dialect; what a think block holds is no call.

    ``thinking``: the prompt has opened a think block. ``tools``: those on offer. With them only what calls one of them
    is a call, and the rest is in ``invalid``; without them whatever is written as calls are.
    """
    offered = {tool.name: tool for tool in tools or ()}
    calls: list[ToolCall] = []
    invalid: list[InvalidCall] = []
    for found in locate(text, thinking=thinking, offered=offered).calls:
        reason = _objection(text, found, offered.get(found.name)) if tools is not None else ""
        if reason:
            invalid.append(InvalidCall(found.name, found.arguments, reason))
        else:
            calls.append(ToolCall(found.name, found.arguments))
    return ToolCalls(calls, invalid)


def _objection(text: str, found: FoundCall, tool: Tool | None) -> str:
    """Why this is no call of a function on offer; "" if it is one."""
    if tool is None:
        return "no function of this name is on offer"
    written = json.loads(text[found.start : found.end], strict=False)
    repeated = found.arguments == tool.parameters and (found.arguments or "description" in written)
    schema = isinstance(found.arguments.get("properties"), dict) and tool.slot("properties") is None
    return "it is a definition of the function, not a call" if repeated or schema else ""
