"""Three functions that differ in the kinds of their arguments, and a request that offers them."""

from __future__ import annotations

from typing import Any

from oospec_async.request import Message, Request, Tool

WEATHER = Tool(
    name="get_weather",
    description="Weather of a place.",
    parameters={
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "days": {"type": "integer"},
            "unit": {"type": "string", "enum": ["celsius", "kelvin"]},
            "alerts": {"type": "boolean"},
        },
        "required": ["city"],
    },
)
ORDER = Tool(
    name="get_order",
    description="Look up an order.",
    parameters={
        "type": "object",
        "properties": {
            "id": {"type": "integer"},
            "items": {"type": "array", "items": {"type": "string"}},
            "address": {"type": "object", "properties": {"street": {"type": "string"}, "zip": {"type": "integer"}}},
        },
        "required": ["id"],
    },
)
TIME = Tool(name="now", description="The time.", parameters={"type": "object", "properties": {}})
TOOLS = (WEATHER, ORDER, TIME)


def request(text: str = "What is the weather in Paris?", tools: tuple[Tool, ...] = TOOLS, **more: Any) -> Request:
    """A request of one message. ``more``: further fields of a Request."""
    return Request(messages=(Message(role="user", content=text),), tools=tools, **more)
