"""API-Bank's level-3 training rows: one step of a dialogue that finds its tools with ToolSearcher as it goes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from oospec_async.errors import OospecError
from oospec_async.request import Json
from oospec_async.training.data.readers.accepted import answered
from oospec_async.training.data.readers.base import Format, as_tools, turn_of
from oospec_async.training.data.readers.literals import Unreadable, loose_literal, python_calls
from oospec_async.training.records import Call, Object, Record, Row

_REQUEST = "API-Request:"
_STEP = re.compile(rf"{_REQUEST} (.*?)->(.*)")
_TIME = re.compile(r"\s*TIME: (.*)$")
_SEARCH = "ToolSearcher"


class _Step(Record):
    input: str
    output: str


class ApiBankTrain(Format):
    """The tools are the one in the prompt and those that its searches have found so far; no parameter is required.

    Earlier steps become calls and results in the messages. Rows whose output is a reply are no requests for a call.
    """

    def requests(self, row: Row) -> Iterator[Object]:
        step = row.read(_Step)
        output = step.output.strip()
        if not output.startswith(_REQUEST):
            self._notes.add("answer is a reply and no call; row left out", row.where)
            return
        try:
            gold = self._calls(output.removeprefix(_REQUEST), row.where)
        except Unreadable:
            self._notes.add("answer that cannot be read as calls; row left out", row.where)
            return
        functions, messages = self._read(step.input, row.where)
        tools = as_tools(functions, row.where, self._notes)
        yield answered({"id": row.name, "messages": messages, "tools": tools}, gold)

    def _calls(self, text: str, where: str) -> list[Call]:
        calls, repaired = python_calls(text)
        if repaired:
            self._notes.add("call that is not Python, such as an unquoted value; read by rule", where)
        return calls

    def _read(self, text: str, where: str) -> tuple[list[Json], list[Object]]:
        """Functions and messages of a prompt."""
        functions: list[Json] = []
        messages: list[Object] = []
        for line in text.split("\n"):
            if line.startswith("{"):
                functions.append(self._function(line, where))
            elif line.startswith("User:"):
                messages += _user(line.removeprefix("User:").strip())
            elif line.startswith("AI:"):
                messages.append({"role": "assistant", "content": line.removeprefix("AI:").strip()})
            elif match := _STEP.fullmatch(line):
                found, step = self._step(match[1], match[2], len(messages), where)
                functions += found
                messages += step
        if not any(message["role"] == "user" for message in messages):
            raise OospecError(f"{where}: input: no line that begins with 'User:'")
        return functions, messages

    def _function(self, line: str, where: str) -> Object:
        data = loose_literal(line)
        if not isinstance(data, dict) or not isinstance(data.get("apiCode"), str):
            raise OospecError(f"{where}: input: a tool is an object with 'apiCode', 'description' and 'parameters'")
        return _schema(data["apiCode"], data.get("description"), data.get("parameters"))

    def _step(self, call: str, result: str, number: int, where: str) -> tuple[list[Json], list[Object]]:
        """What a search has found, and the step as messages."""
        try:
            calls = self._calls(call, where)
        except Unreadable:
            self._notes.add("earlier step that cannot be read as calls; left out of the messages", where)
            return [], []
        found = self._found(result, where) if calls[-1].name == _SEARCH else []
        return found, turn_of(calls, [f"call_{number}_{index}" for index in range(len(calls))], result)

    def _found(self, result: str, where: str) -> list[Json]:
        value = loose_literal(result)
        entries = [e for e in (value if isinstance(value, list) else [value]) if isinstance(e, dict) and "name" in e]
        if not entries:
            self._notes.add("search whose result cannot be read; its tool is left out", where)
        return [_schema(str(e["name"]), e.get("description"), e.get("input_parameters")) for e in entries]


def _schema(name: str, text: Json, properties: Json) -> Object:
    kept = properties if isinstance(properties, dict) else {}
    about = text if isinstance(text, str) else ""
    return {"name": name, "description": about, "parameters": {"type": "object", "properties": kept}}


def _user(text: str) -> list[Object]:
    """The time, which the source appends to the utterance, becomes a system message, as other sets give it."""
    time = _TIME.search(text)
    if time is None:
        return [{"role": "user", "content": text}]
    system = {"role": "system", "content": f"The current time is {time[1]}."}
    return [system, {"role": "user", "content": text[: time.start()].strip()}]
