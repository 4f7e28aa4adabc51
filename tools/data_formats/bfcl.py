"""BFCL (Berkeley Function-Calling Leaderboard): single-turn files, with the accepted answers beside them if there."""

from __future__ import annotations

from pathlib import Path

from data_formats import source as sources
from data_formats.base import Notes, Object, Row, T, as_tools, needed
from oospec_async.errors import OospecError
from oospec_async.request import Json

_ANSWERS = "possible_answer"
_MAY_BE_OMITTED = ""


class Bfcl:
    """The first turn becomes the messages; functions stay as they are, types such as ``dict`` included.

    An answer lists accepted values for each argument; gold keeps the first. ``""`` among them means that the argument
    may be left out, so one that comes first leaves it out, unless the schema requires it. An argument for which
    nothing is accepted is left out. In an object, also within a list, each value is such a list again, one level deep.
    """

    def __init__(self, source: Path, notes: Notes) -> None:
        self._notes = notes
        # Irrelevance rows have no answer file, because the right answer is no call.
        self._no_call = "irrelevance" in sources.category(source)
        self._answers: dict[str, Row] | None = None
        path = sources.beside(source, _ANSWERS)
        if path is not None:
            self._answers = {row.need("id", str): row for row in sources.read_rows(path)}
        elif not self._no_call:
            notes.add(f"no file of accepted answers in {_ANSWERS}/; requests have no gold", str(source))

    def request(self, row: Row) -> Object:
        turns, functions = row.need("question", list), row.need("function", list)
        if not turns or not isinstance(turns[0], list):
            raise OospecError(f"{row.where}: question: a list of turns is expected, each a list of messages")
        if len(turns) > 1:
            self._notes.add("later turns left out; a request is the first turn", row.where)
        made: Object = {"id": row.need("id", str), "messages": turns[0]}
        made["tools"] = as_tools(functions, row.where, self._notes)
        gold = self._gold(made["id"], functions, row.where)
        return made if gold is None else {**made, "gold": gold}

    def _gold(self, name: str, functions: list[Json], where: str) -> list[Object] | None:
        if self._no_call:
            return []
        if self._answers is None:
            return None
        answer = self._answers.get(name)
        if answer is None:
            self._notes.add("row without accepted answers; no gold", where)
            return None
        named = [f for f in functions if isinstance(f, dict) and isinstance(f.get("name"), str)]
        schemas = {f["name"]: f.get("parameters") for f in named}
        calls: list[Object] = []
        for call in answer.need("ground_truth", list):
            if not isinstance(call, dict):
                raise OospecError(f"{answer.where}: ground_truth: calls are objects, not {type(call).__name__}")
            for function in call:
                accepted = needed(call, function, dict, f"{answer.where}: ground_truth")
                arguments = self._firsts(accepted, schemas.get(function), answer.where, nested=False)
                calls.append({"name": function, "arguments": arguments})
        return calls

    def _firsts(self, accepted: Object, schema: Json, where: str, *, nested: bool) -> Object:
        """The first accepted value of each argument, or of each key of an object."""
        properties, required = _of(schema, "properties", dict), _of(schema, "required", list)
        chosen: Object = {}
        for key, values in accepted.items():
            if not isinstance(values, list):
                self._notes.add("gold: a value where a list of accepted values belongs; taken as the only one", where)
                values = [values]
            elif not values:
                self._notes.add("gold: no value is accepted; argument left out", where)
                continue
            value = values[0]
            if value == _MAY_BE_OMITTED:
                if key not in required:
                    continue
                self._notes.add('gold: "" comes first for a required argument; the next value, if any, is taken', where)
                value = next((v for v in values if v != _MAY_BE_OMITTED), value)
            chosen[key] = value if nested else self._within(value, properties.get(key), where)
        return chosen

    def _within(self, value: Json, schema: Json, where: str) -> Json:
        if isinstance(value, dict):
            return self._firsts(value, schema, where, nested=True)
        if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
            items = _of(schema, "items", dict)
            return [self._firsts(item, items, where, nested=True) for item in value]
        return value


def _of(schema: Json, key: str, kind: type[T]) -> T:
    """A part of a schema, empty where it is missing or malformed."""
    part = schema.get(key) if isinstance(schema, dict) else None
    return part if isinstance(part, kind) else kind()
