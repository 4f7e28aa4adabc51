"""ToolAlpaca: a row is an API, with its instructions and their answers (evaluation) or instances (training)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from pydantic import Field

from oospec_async.errors import OospecError
from oospec_async.files.json_text import load_json
from oospec_async.files.validation import validated
from oospec_async.request import Json
from oospec_async.training.data.readers.accepted import answered
from oospec_async.training.data.readers.base import Format, as_tools, listed, turn_of
from oospec_async.training.data.readers.openapi import functions_of
from oospec_async.training.records import Call, Object, Record, Row

_PLACEHOLDER = re.compile(r'"?\$\{([^{}",\]]*)\}?"?')  # ${animeId from searchAnime}, where a value belongs
_BRACED = re.compile(r'"\{([^{}"]*)\}"')  # "{start date}": the same, half written
_OPTIONAL = "[Optional]"
_ASK = "getDetails"  # not of the API: the agent asks its user


class _Api(Record):
    name: str = Field(validation_alias="Name")


class _Evaluated(Record):
    instructions: list[Json] = Field(validation_alias="Instructions")
    answers: list[Json] = Field(validation_alias="Golden_Answers")


class _Action(Record):
    name: str = Field(validation_alias="Action")
    text: str = Field(validation_alias="Action_Input")


class ToolAlpaca(Format):
    """Schemas are read off the OpenAPI document; names that only the prose lists are no functions.

    A gold input that is no JSON because a value is a placeholder is read with the placeholder as text.
    """

    def requests(self, row: Row) -> Iterator[Object]:
        name = row.read(_Api).name
        tools = self._tools(row)
        if tools and "Golden_Answers" in row.data:
            yield from self._evaluation(row, name, tools)
        elif tools:
            yield from self._training(row, name, tools)

    def _tools(self, row: Row) -> list[Object]:
        if not isinstance(row.data.get("Documentation"), str):
            self._notes.add("API without documentation; row left out", row.where)
            return []
        try:
            document = load_json(row.data["Documentation"], f"{row.where}: Documentation", "an OpenAPI document")
        except OospecError:
            self._notes.add("documentation that is no JSON; row left out", row.where)
            return []
        functions: list[Json] = list(functions_of(document))
        if not functions:
            self._notes.add("documentation without operations; row left out", row.where)
        return as_tools(functions, row.where, self._notes)

    def _evaluation(self, row: Row, name: str, tools: list[Object]) -> Iterator[Object]:
        found = row.read(_Evaluated)
        if len(found.instructions) != len(found.answers):
            counts = f"{len(found.answers)} for {len(found.instructions)}"
            raise OospecError(f"{row.where}: Golden_Answers: {counts} Instructions")
        for number, (text, answer) in enumerate(zip(found.instructions, found.answers, strict=True)):
            messages = [{"role": "user", "content": str(text)}]
            made: Object = {"id": f"{name}-{number}", "messages": messages, "tools": tools}
            gold = self._gold(answer, row.where)
            yield made if gold is None else answered(made, gold)

    def _gold(self, answer: Json, where: str) -> list[Call] | None:
        gold = []
        for call in listed(answer):
            action = validated(_Action, call, f"{where}: Golden_Answers", "a call")
            if action.name.startswith(_OPTIONAL):
                self._notes.add("gold call marked as optional; left out", where)
                continue
            arguments = self._arguments(action.text, where)
            if arguments is None:
                self._notes.add("gold input that cannot be read; no gold", where)
                return None
            gold.append(Call(name=action.name, arguments=arguments))
        return gold

    def _arguments(self, text: str, where: str) -> Object | None:
        """An action's input; None if it is no object."""
        value = _read(text)
        if value is None:
            value = _read(_PLACEHOLDER.sub(r'"${\1}"', text))
            if value is not None:
                self._notes.add("input with a placeholder where a value belongs; placeholder kept as text", where)
        if not isinstance(value, dict):
            return None
        marked: Object = json.loads(_BRACED.sub(r'"${\1}"', json.dumps(value)))
        return marked

    def _training(self, row: Row, name: str, tools: list[Object]) -> Iterator[Object]:
        """A request for each step of an instance, with the steps before it as calls and results."""
        names = {tool["function"]["name"] for tool in tools}
        for number, instance in enumerate(listed(row.data.get("Instances") or [])):
            if not isinstance(instance, dict) or not isinstance(instance.get("input"), str):
                self._notes.add("instance without an input; left out", row.where)
                continue
            messages: list[Object] = [{"role": "user", "content": instance["input"].rsplit("\nHint: ", 1)[0]}]
            for step, (action, text, result) in enumerate(_steps(instance)):
                arguments = self._arguments(text, row.where)
                if action not in names or arguments is None:
                    kind = "asks its user" if action == _ASK else "calls what the API lacks, or with unreadable input"
                    self._notes.add(f"step that {kind}; the instance ends before it", row.where)
                    break
                gold = [Call(name=action, arguments=arguments)]
                yield answered({"id": f"{name}-{number}-{step}", "messages": list(messages), "tools": tools}, gold)
                messages += turn_of(gold, [f"call_{step}"], result)


def _read(text: str) -> Json:
    try:
        return load_json(text, "", "")
    except OospecError:
        return None


def _steps(instance: Object) -> Iterator[tuple[str, str, str]]:
    """Action, input and result of each step that has the three."""
    steps = instance.get("intermediate_steps")
    for step in steps if isinstance(steps, list) else []:
        match step:
            case [[str(action), str(text), *_], result]:
                yield action, text, str(result)
            case _:
                return
