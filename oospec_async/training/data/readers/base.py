"""What every format shares: its interface, tools and turns in OpenAI's form, and checks of the accepted answers."""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path

from oospec_async.request import Json, Request
from oospec_async.training.notes import Notes
from oospec_async.training.records import Call, Object, Row


class Format(ABC):
    """Turns rows of one public set into requests.

    ``gold`` is a list of ``{"name", "arguments"}``. ``accepted`` is its counterpart for evaluation: a list of
    ``{"name", "arguments": {argument: [values]}, "optional": [arguments]}``. An argument for which no value is listed
    depends on another call's result: it is to be passed, and its value is not to be judged.
    """

    beside: Sequence[Path] = ()  # further files that the source needs and that were read

    def __init__(self, source: Path, notes: Notes) -> None:
        """``source``: the file, for formats that keep answers beside it. Raises OospecError."""
        self._notes = notes

    @abstractmethod
    def requests(self, row: Row) -> Iterator[Object]:
        """``id``, ``messages``, ``tools`` and what else the source has; ``gold`` and ``accepted`` where it has answers.

        A row may make several requests, or none (counted). Raises OospecError naming the field.
        """


def listed(value: Json) -> list[Json]:
    """A list as it is, what is none as the only one."""
    return value if isinstance(value, list) else [value]


_REFERENCE = re.compile(r"\bAPI_call_\d+\b|\$\{")


def refers(value: Json) -> bool:
    """Whether a value is, or holds, another call's result: Seal-Tools' ``API_call_1``, ToolAlpaca's ``${…}``."""
    return _REFERENCE.search(json.dumps(value)) is not None


def turn_of(calls: Sequence[Call], ids: Sequence[str], result: str) -> list[Object]:
    """Calls and the result of the last one, as messages."""
    asked = []
    for name, call in zip(ids, calls, strict=True):
        function = {"name": call.name, "arguments": json.dumps(call.arguments, ensure_ascii=False)}
        asked.append({"id": name, "type": "function", "function": function})
    answer = {"role": "tool", "tool_call_id": ids[-1], "name": calls[-1].name, "content": result}
    return [{"role": "assistant", "content": "", "tool_calls": asked}, answer]


def as_tools(functions: list[Json], where: str, notes: Notes) -> list[Object]:
    """Functions, as they are, in the OpenAI wrapping. Of two that share a name the first is kept."""
    tools: list[Object] = []
    names: set[str] = set()
    for function in functions:
        name = function.get("name") if isinstance(function, dict) else None
        if isinstance(name, str):
            if name in names:
                notes.add("tool listed twice; the first is kept", where)
                continue
            names.add(name)
        tools.append({"type": "function", "function": function})
    return tools


def check_gold(request: Request, gold: list[Object], where: str, notes: Notes) -> None:
    """Note where an accepted answer and the schemas disagree; the answer is kept as the source has it."""
    for call in gold:
        tool = request.tool(call["name"])
        if tool is None:
            notes.add("gold calls a tool that the row does not list; kept", where)
            continue
        if any(tool.slot(name) is None for name in call["arguments"]):
            notes.add("gold passes an argument that the schema lacks; kept", where)
        if any(slot.required and slot.name not in call["arguments"] for slot in tool.slots):
            notes.add("gold leaves out a required argument; kept", where)
