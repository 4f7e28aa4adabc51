"""API-Bank, levels 1 and 2, as processed by ToolSpec: the tools are text in the system message."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pydantic import Field

from oospec_async.errors import OospecError
from oospec_async.files.validation import validated
from oospec_async.request import Json
from oospec_async.training.data.readers.accepted import answered
from oospec_async.training.data.readers.base import Format, as_tools, listed
from oospec_async.training.data.readers.literals import literal
from oospec_async.training.records import Call, Object, Record, Row

_SECTION = re.compile(r"^\*\*Available Tools\*\*$(.*?)(?=^\*\*|\Z)", re.MULTILINE | re.DOTALL)
_ENTRY = re.compile(r"^\d+\. Name: *", re.MULTILINE)
_FIELDS = re.compile(r"(?P<name>[^\n]*)(?:\nDescription: *(?P<text>.*?))?(?:\nParameters: *(?P<block>.*))?", re.DOTALL)


class _Turn(Record):
    system: str
    user: str


class _Call(Call):
    arguments: Object = Field(validation_alias="parameters")


class ApiBank(Format):
    """Messages keep their text; the tools are read off it as well, so that drafters know them.

    Types stay as they are (``list(str)``), and no parameter is required, since no schema says which are. Gold is a
    call or a list of calls; its values, all strings in the source, are kept.
    """

    def requests(self, row: Row) -> Iterator[Object]:
        turn = row.read(_Turn)
        tools = as_tools(self._functions(turn.system, row.where), row.where, self._notes)
        messages = [{"role": "system", "content": turn.system}, {"role": "user", "content": turn.user}]
        made: Object = {"id": _name(row), "messages": messages, "tools": tools, "tools_in_prompt": True}
        if "answer" not in row.data:
            self._notes.add("row without an answer; no gold", row.where)
            yield made
            return
        where = f"{row.where}: answer"
        yield answered(made, [validated(_Call, call, where, "a call") for call in listed(row.data["answer"])])

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


def _name(row: Row) -> str:
    """The dialogue and the turn in it, where the row says so."""
    other = row.data.get("other")
    if not isinstance(other, dict) or not isinstance(other.get("file"), str):
        return row.name
    return f"{other['file'].removesuffix('.jsonl')}-{other.get('id', 0)}"
