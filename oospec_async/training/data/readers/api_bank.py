"""API-Bank, levels 1 and 2, as processed by ToolSpec: the tools are text in the system message."""

from __future__ import annotations

import re
from collections.abc import Iterator

from oospec_async.errors import OospecError
from oospec_async.request import Json
from oospec_async.training.data.readers.accepted import accepted
from oospec_async.training.data.readers.base import Format, Object, Row, as_tools, needed
from oospec_async.training.data.readers.literals import literal

_SECTION = re.compile(r"^\*\*Available Tools\*\*$(.*?)(?=^\*\*|\Z)", re.MULTILINE | re.DOTALL)
_ENTRY = re.compile(r"^\d+\. Name: *", re.MULTILINE)
_FIELDS = re.compile(r"(?P<name>[^\n]*)(?:\nDescription: *(?P<text>.*?))?(?:\nParameters: *(?P<block>.*))?", re.DOTALL)


class ApiBank(Format):
    """Messages keep their text; the tools are read off it as well, so that drafters know them.

    Types stay as they are (``list(str)``), and no parameter is required, since no schema says which are. Gold is a
    call or a list of calls; its values, all strings in the source, are kept.
    """

    def requests(self, row: Row) -> Iterator[Object]:
        system, user = row.need("system", str), row.need("user", str)
        tools = as_tools(self._functions(system, row.where), row.where, self._notes)
        messages = [{"role": "system", "content": system}, {"role": "user", "content": user}]
        made: Object = {"id": _name(row), "messages": messages, "tools": tools, "tools_in_prompt": True}
        if "answer" not in row.data:
            self._notes.add("row without an answer; no gold", row.where)
            yield made
            return
        gold = _gold(row)
        yield {**made, "gold": gold, "accepted": accepted(gold, tools)}

    def _functions(self, system: str, where: str) -> list[Json]:
        section = _SECTION.search(system)
        entries = _ENTRY.split(section.group(1))[1:] if section else []
        if not entries:
            raise OospecError(f"{where}: system: no tools, as '1. Name: …' under '**Available Tools**'")
        return [self._function(entry, where) for entry in entries]

    def _function(self, entry: str, where: str) -> Object:
        fields = _FIELDS.fullmatch(entry.rstrip())
        if fields is None:
            raise OospecError(f"{where}: system: a tool is 'Name', 'Description' and 'Parameters', each on a line")
        properties = literal(fields["block"] or "")
        if not isinstance(properties, dict):
            self._notes.add("parameters that are no Python dict literal; tool kept without parameters", where)
            properties = {}
        parameters = {"type": "object", "properties": properties}
        return {"name": fields["name"].strip(), "description": (fields["text"] or "").strip(), "parameters": parameters}


def _gold(row: Row) -> list[Object]:
    answer = row.data["answer"]
    calls: list[Object] = []
    for call in answer if isinstance(answer, list) else [answer]:
        if not isinstance(call, dict):
            raise OospecError(f"{row.where}: answer: a call is an object, not {type(call).__name__}")
        name = needed(call, "name", str, f"{row.where}: answer")
        calls.append({"name": name, "arguments": needed(call, "parameters", dict, f"{row.where}: answer")})
    return calls


def _name(row: Row) -> str:
    """The dialogue and the turn in it, where the row says so."""
    other = row.data.get("other")
    if not isinstance(other, dict) or not isinstance(other.get("file"), str):
        return row.name
    return f"{other['file'].removesuffix('.jsonl')}-{other.get('id', 0)}"
