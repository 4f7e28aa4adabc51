"""What the sidecar is asked: one short prefix shared by all slots, and one short question per slot.

The prefix is the wave's main cost, so it is no chat transcript with JSON schemas but one line per function and one per
message. Training uses the same texts.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from oospec_async.request import Json, Parameter, Request, Tool
from oospec_async.schema import kind_of

_LONGEST_DESCRIPTION = 64  # characters of a description that are worth their tokens
_LONGEST_EXAMPLES = 40  # of these, for examples: targets like to take their values from there
_LONGEST_MESSAGE = 2000


@dataclass(frozen=True)
class Question:
    """``stem`` is shared by the questions of one call and stands behind the prefix once; ``ask`` is one's own."""

    stem: str
    ask: str


@dataclass(frozen=True)
class Slot:
    """One argument of a function's ``call``-th call (from 1)."""

    function: str
    parameter: Parameter
    call: int = 1


# Shows a sidecar without an adapter what an answer looks like: a JSON value, null for what the request leaves open.
EXAMPLE = """Functions:
alarm.set(minutes: integer (from now), label?: string, days?: array of string, loud?: boolean) - Set an alarm

Conversation:
user: Wake me in half an hour for the tennis match, and make it loud

Calls that answer the last message:
call 1 = alarm.set
call 2 = none
alarm.set: minutes = 30
alarm.set: label = "tennis match"
alarm.set: days = null
alarm.set: loud = true

"""


def prefix(request: Request) -> str:
    """Functions and messages, one a line."""
    functions = "".join(f"{_signature(tool)}\n" for tool in request.tools)
    messages = "".join(f"{m.role}: {_content(m.content)}\n" for m in request.messages if m.content)
    return f"Functions:\n{functions}\nConversation:\n{messages}\nCalls that answer the last message:\n"


def function_question(number: int) -> Question:
    """Which function the ``number``-th call (from 1) calls; ``NONE`` is the answer where there is no such call."""
    return Question("call", f" {number} =")


def slot_question(slot: Slot) -> Question:
    """The argument, or null; asked of every slot as if its function were called."""
    again = f" ({slot.call})" if slot.call > 1 else ""
    return Question(f"{slot.function}{again}:", f" {slot.parameter.name} =")


def whole_question() -> Question:
    """All calls in one answer, as JSON: an auxiliary question for training only."""
    return Question("all", " =")


NONE = "none"


def answer_text(value: Json) -> str:
    """An answer as it follows its question: a JSON value (null for an argument that is left out) and the line's end."""
    return f" {json.dumps(value, ensure_ascii=False)}\n"


def name_text(name: str) -> str:
    """A function's name, or ``NONE``, as an answer."""
    return f" {name}\n"


def _signature(tool: Tool) -> str:
    parameters = ", ".join(_parameter(slot) for slot in tool.slots)
    return f"{tool.name}({parameters})" + (f" - {_shortened(tool.description)}" if tool.description else "")


def _parameter(slot: Parameter) -> str:
    enum = slot.enum
    kind = " or ".join(json.dumps(v, ensure_ascii=False) for v in enum[:8]) if enum else _kind(slot.schema_)
    about = f" ({_shortened(slot.description)})" if slot.description else ""
    return f"{slot.name}{'' if slot.required else '?'}: {kind}{_default(slot)}{about}"


_DEFAULT = re.compile(
    r"""\bdefaults?(?:\s+value)?(?:\s+(?:is|to))?:?\s*(?:"([^"]*)"|'([^']*)'|(-?\d+(?:\.\d+)?|true|false)\b)""",
    re.IGNORECASE,
)


def _default(slot: Parameter) -> str:
    """What targets write where a request leaves the argument open; many schemas say it in the description only."""
    if "default" in slot.schema_:
        return f" = {json.dumps(slot.schema_['default'], ensure_ascii=False)}"
    found = _DEFAULT.search(slot.description)
    if found is None:
        return ""
    double, single, bare = found.groups()
    return f" = {bare.lower()}" if bare else f" = {json.dumps(double or single or '', ensure_ascii=False)}"


def _kind(schema: Json) -> str:
    kind = kind_of(schema)
    items = schema.get("items") if kind == "array" and isinstance(schema, dict) else None
    return f"array of {kind_of(items)}" if items else kind


_EXAMPLES = re.compile(
    r"\(?\b(?:e\.g\.|i\.e\.|for example|for instance|such as|one of|options|in the format|format)", re.IGNORECASE
)


def _shortened(text: str) -> str:
    """The beginning of a description, and the examples in it if they would be cut off."""
    text = " ".join(text.split())
    if len(text) <= _LONGEST_DESCRIPTION:
        return text.rstrip(".")
    found = _EXAMPLES.search(text, _LONGEST_DESCRIPTION - _LONGEST_EXAMPLES)
    examples = _cut(text[found.start() :], _LONGEST_EXAMPLES) if found is not None else ""
    room = _LONGEST_DESCRIPTION - len(examples)
    return f"{_cut(text[: found.start()] if found else text, room)} {examples}".strip()


def _cut(text: str, length: int) -> str:
    """At most ``length`` characters, ending with a word."""
    return text.strip() if len(text) <= length else text[: length + 1].rpartition(" ")[0].rstrip(" ,.;:")


def _content(content: str) -> str:
    return " ".join(content.split())[-_LONGEST_MESSAGE:]
