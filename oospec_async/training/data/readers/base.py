"""What every format shares: rows, notes on what had to be decided, and checks of the accepted answers."""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from oospec_async.errors import OospecError
from oospec_async.request import Json, Request

T = TypeVar("T")
Object = dict[str, Json]

_WORDS: dict[type, str] = {list: "a list", dict: "an object", str: "text", bool: "true or false"}


class Notes:
    """Counts what a rule decided, by kind, and remembers where each kind was met first."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._first: dict[str, str] = {}

    def add(self, kind: str, where: str) -> None:
        self._counts[kind] += 1
        self._first.setdefault(kind, where)

    def lines(self) -> Iterator[str]:
        for kind, count in self._counts.items():
            yield f"{count} x {kind} (first: {self._first[kind]})"

    def as_json(self) -> list[Object]:
        """For a manifest: kind, count, and where it was met first."""
        return [{"rule": k, "count": count, "first": self._first[k]} for k, count in self._counts.items()]

    def count(self, kind: str) -> int:
        return self._counts[kind]


class Ids:
    """Keeps ids apart."""

    def __init__(self, notes: Notes) -> None:
        self._seen: set[str] = set()
        self._notes = notes

    def unique(self, name: str, where: str) -> str:
        """The name, with a number appended (counted) if it was used before."""
        if name in self._seen:
            self._notes.add("id used twice; a number is appended", where)
            name = next(new for n in range(2, len(self._seen) + 3) if (new := f"{name}-{n}") not in self._seen)
        self._seen.add(name)
        return name


@dataclass(frozen=True)
class Row:
    """One row of a source. ``where`` names its file and line; ``name`` is an id for it if it has none."""

    where: str
    name: str
    data: Object

    def need(self, field: str, kind: type[T]) -> T:
        """The field's value. Raises OospecError if it is missing or of another kind."""
        return needed(self.data, field, kind, self.where)


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


def needed(data: Object, field: str, kind: type[T], where: str) -> T:
    if field not in data:
        raise OospecError(f"{where}: {field}: missing; the row has {', '.join(map(repr, data)) or 'no fields'}")
    value = data[field]
    if not isinstance(value, kind):
        raise OospecError(f"{where}: {field}: {_WORDS[kind]} is expected, not {type(value).__name__}")
    return value


_REFERENCE = re.compile(r"\bAPI_call_\d+\b|\$\{")


def refers(value: Json) -> bool:
    """Whether a value is, or holds, another call's result: Seal-Tools' ``API_call_1``, ToolAlpaca's ``${…}``."""
    return _REFERENCE.search(json.dumps(value)) is not None


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
