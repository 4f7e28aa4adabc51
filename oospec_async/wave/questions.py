"""What the sidecar is asked: one short prefix shared by all slots, and one short question per slot.

The prefix is the wave's main cost, so it is no chat transcript with JSON schemas but one line per function and one per
message. Training uses the same texts.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from oospec_async.request import Json, Parameter, Request, Tool, kind_of

_LONGEST_DESCRIPTION = 80  # characters of a description that are worth their tokens
_LONGEST_MESSAGE = 2000


SlotKey = tuple[str, str]  # function and parameter name


@dataclass(frozen=True)
class Slot:
    """One argument of one function."""

    function: str
    parameter: Parameter

    @property
    def key(self) -> SlotKey:
        return self.function, self.parameter.name


# Shows a sidecar without an adapter what an answer looks like: a JSON value, null for what the request leaves open.
EXAMPLE = """Functions:
alarm.set(minutes: integer (from now), label?: string, days?: array of string, loud?: boolean) - Set an alarm

Conversation:
user: Wake me in half an hour for the tennis match, and make it loud

The call that answers the last message:
alarm.set: minutes = 30
alarm.set: label = "tennis match"
alarm.set: days = null
alarm.set: loud = true

"""


def prefix(request: Request) -> str:
    """Functions and messages, one a line."""
    functions = "".join(f"{_signature(tool)}\n" for tool in request.tools)
    messages = "".join(f"{m.role}: {_content(m.content)}\n" for m in request.messages if m.content)
    return f"Functions:\n{functions}\nConversation:\n{messages}\nThe call that answers the last message:\n"


def function_question() -> str:
    return "function ="


def slot_question(slot: Slot) -> str:
    return f"{slot.function}: {slot.parameter.name} ="


def _signature(tool: Tool) -> str:
    parameters = ", ".join(_parameter(slot) for slot in tool.slots)
    return f"{tool.name}({parameters})" + (f" - {_shortened(tool.description)}" if tool.description else "")


def _parameter(slot: Parameter) -> str:
    enum = slot.enum
    kind = " or ".join(json.dumps(v, ensure_ascii=False) for v in enum[:8]) if enum else _kind(slot.schema_)
    about = f" ({_shortened(slot.description)})" if slot.description else ""
    return f"{slot.name}{'' if slot.required else '?'}: {kind}{about}"


def _kind(schema: Json) -> str:
    kind = kind_of(schema)
    items = schema.get("items") if kind == "array" and isinstance(schema, dict) else None
    return f"array of {kind_of(items)}" if items else kind


def _shortened(text: str) -> str:
    text = " ".join(text.split())
    if len(text) <= _LONGEST_DESCRIPTION:
        return text.rstrip(".")
    return text[:_LONGEST_DESCRIPTION].rsplit(" ", 1)[0]


def _content(content: Json) -> str:
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    return " ".join(text.split())[-_LONGEST_MESSAGE:]
