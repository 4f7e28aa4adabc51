"""BFCL (Berkeley Function-Calling Leaderboard): single-turn files, with the accepted answers beside them if there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice, product
from pathlib import Path

from oospec_async.errors import OospecError
from oospec_async.request import Json
from oospec_async.training.data.readers import source as sources
from oospec_async.training.data.readers.base import Format, Notes, Object, Row, T, as_tools, needed

_ANSWERS = "possible_answer"
_MAY_BE_OMITTED = ""
_MOST_FORMS = 256  # of one accepted value, where its parts have several accepted values each


class Bfcl(Format):
    """The first turn becomes the messages; functions stay as they are, types such as ``dict`` included.

    An answer lists accepted values for each argument; gold keeps the first. ``""`` among them means that the argument
    may be left out, so one that comes first leaves it out, unless the schema requires it. An argument for which
    nothing is accepted is left out. In an object, also within a list, each value is such a list again, one level deep.
    """

    def __init__(self, source: Path, notes: Notes) -> None:
        super().__init__(source, notes)
        # Irrelevance rows have no answer file, because the right answer is no call.
        self._no_call = "irrelevance" in sources.category(source)
        self._answers: dict[str, Row] | None = None
        path = sources.beside(source, _ANSWERS)
        if path is not None:
            self.beside = (path,)
            self._answers = {row.need("id", str): row for row in sources.read_rows(path)}
        elif not self._no_call:
            notes.add(f"no file of accepted answers in {_ANSWERS}/; requests have no gold", str(source))

    def requests(self, row: Row) -> Iterator[Object]:
        turns, functions = row.need("question", list), row.need("function", list)
        if not turns or not isinstance(turns[0], list):
            raise OospecError(f"{row.where}: question: a list of turns is expected, each a list of messages")
        if len(turns) > 1:
            self._notes.add("later turns left out; a request is the first turn", row.where)
        made: Object = {"id": row.need("id", str), "messages": turns[0]}
        made["tools"] = as_tools(functions, row.where, self._notes)
        answered = self._answered(made["id"], functions, row.where)
        yield made if answered is None else {**made, "gold": answered[0], "accepted": answered[1]}

    def _answered(self, name: str, functions: list[Json], where: str) -> tuple[list[Object], list[Object]] | None:
        """Gold, and what is accepted."""
        if self._no_call:
            return [], []
        if self._answers is None:
            return None
        answer = self._answers.get(name)
        if answer is None:
            self._notes.add("row without accepted answers; no gold", where)
            return None
        named = [f for f in functions if isinstance(f, dict) and isinstance(f.get("name"), str)]
        schemas = {f["name"]: f.get("parameters") for f in named}
        gold: list[Object] = []
        every: list[Object] = []
        for call in answer.need("ground_truth", list):
            if not isinstance(call, dict):
                raise OospecError(f"{answer.where}: ground_truth: calls are objects, not {type(call).__name__}")
            for function in call:
                accepted = needed(call, function, dict, f"{answer.where}: ground_truth")
                arguments = self._firsts(accepted, schemas.get(function), answer.where, nested=False)
                gold.append({"name": function, "arguments": arguments})
                every.append({"name": function, **self._accepted(accepted, arguments, answer.where)})
        return gold, every

    def _accepted(self, accepted: Object, chosen: Object, where: str) -> Object:
        """Every accepted value of each argument that may be passed, gold's first, and what may be left out."""
        values: dict[str, list[Json]] = {}
        optional: list[str] = []
        for key, listed in accepted.items():
            listed = listed if isinstance(listed, list) else [listed]
            if not listed:
                continue  # noted for gold
            optional += [key] if _MAY_BE_OMITTED in listed else []
            every = [chosen[key]] if key in chosen else []
            for value in listed:
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
