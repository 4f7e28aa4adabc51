"""BFCL (Berkeley Function-Calling Leaderboard): single-turn files, with the accepted answers beside them if there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice, product
from pathlib import Path
from typing import TypeVar

from pydantic import Field

from oospec_async.request import Json
from oospec_async.training import row_files
from oospec_async.training.data.readers.base import Format, as_tools, listed
from oospec_async.training.notes import Notes
from oospec_async.training.records import Object, Record, Row

T = TypeVar("T")

_ANSWERS = "possible_answer"
_MAY_BE_OMITTED = ""
_MOST_FORMS = 256  # of one accepted value, where its parts have several accepted values each


class _Named(Record):
    id: str


class _Question(_Named):
    question: list[list[Json]] = Field(min_length=1)  # turns, each a list of messages
    function: list[Json]


class _Answer(Record):
    ground_truth: list[dict[str, Object]]


class Bfcl(Format):
    """The first turn becomes the messages; functions stay as they are, types such as ``dict`` included.

    An answer lists accepted values for each argument; gold keeps the first. ``""`` among them means that the argument
    may be left out, so one that comes first leaves it out, unless the schema requires it. An argument for which
    nothing is accepted is left out. In an object, also within a list, each value is such a list again, one level deep.
    """

    def __init__(self, source: Path, notes: Notes) -> None:
        super().__init__(source, notes)
        # Irrelevance rows have no answer file, because the right answer is no call.
        self._no_call = "irrelevance" in row_files.stem(source)
        self._answers: dict[str, Row] | None = None
        path = row_files.beside(source, _ANSWERS)
        if path is not None:
            self.beside = (path,)
            self._answers = {row.read(_Named).id: row for row in row_files.read_rows(path)}
        elif not self._no_call:
            notes.add(f"no file of accepted answers in {_ANSWERS}/; requests have no gold", str(source))

    def requests(self, row: Row) -> Iterator[Object]:
        found = row.read(_Question)
        if len(found.question) > 1:
            self._notes.add("later turns left out; a request is the first turn", row.where)
        made: Object = {"id": found.id, "messages": found.question[0]}
        made["tools"] = as_tools(found.function, row.where, self._notes)
        answered = self._answered(found, row.where)
        yield made if answered is None else {**made, "gold": answered[0], "accepted": answered[1]}

    def _answered(self, asked: _Question, where: str) -> tuple[list[Object], list[Object]] | None:
        """Gold, and what is accepted."""
        if self._no_call:
            return [], []
        if self._answers is None:
            return None
        if asked.id not in self._answers:
            self._notes.add("row without accepted answers; no gold", where)
            return None
        named = [f for f in asked.function if isinstance(f, dict) and isinstance(f.get("name"), str)]
        schemas = {f["name"]: f.get("parameters") for f in named}
        gold: list[Object] = []
        every: list[Object] = []
        answer = self._answers[asked.id]
        for function, accepted in (call for calls in answer.read(_Answer).ground_truth for call in calls.items()):
            arguments = self._firsts(accepted, schemas.get(function), answer.where, nested=False)
            gold.append({"name": function, "arguments": arguments})
            every.append({"name": function, **self._accepted(accepted, arguments, answer.where)})
        return gold, every

    def _accepted(self, accepted: Object, chosen: Object, where: str) -> Object:
        """Every accepted value of each argument that may be passed, gold's first, and what may be left out."""
        values: dict[str, list[Json]] = {}
        optional: list[str] = []
        for key, accepted_values in accepted.items():
            if not (choices := listed(accepted_values)):
                continue  # noted for gold
            optional += [key] if _MAY_BE_OMITTED in choices else []
            every = [chosen[key]] if key in chosen else []
            for value in choices:
                forms = list(islice(_forms(value), _MOST_FORMS + 1))
                if len(forms) > _MOST_FORMS:
                    self._notes.add(f"accepted: over {_MOST_FORMS} forms of an object; the first are listed", where)
                every += forms[:_MOST_FORMS]
            values[key] = [v for n, v in enumerate(every) if not any(_same(v, other) for other in every[:n])]
        return {"arguments": values, "optional": optional}

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


def _forms(value: Json) -> Iterator[Json]:
    """The plain values that an accepted value stands for: each key of an object holds a list of accepted ones."""
    if isinstance(value, dict):
        keys = list(value)
        choices = [each if isinstance(each, list) and each else [each] for each in value.values()]
        for combined in product(*choices):
            yield {k: v for k, v in zip(keys, combined, strict=True) if v != _MAY_BE_OMITTED}
    elif isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        yield from (list(items) for items in product(*(list(islice(_forms(item), _MOST_FORMS)) for item in value)))
    else:
        yield value


def _same(one: Json, other: Json) -> bool:
    """Equal as JSON: 1 and true are not the same."""
    return json.dumps(one) == json.dumps(other)


def _of(schema: Json, key: str, kind: type[T]) -> T:
    """A part of a schema, empty where it is missing or malformed."""
    part = schema.get(key) if isinstance(schema, dict) else None
    return part if isinstance(part, kind) else kind()
