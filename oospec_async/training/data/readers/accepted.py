"""Gold as what an evaluation accepts, for sets that give one answer to a request."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence

from pydantic import ValidationError

from oospec_async.request import Json, Parameter, Tool
from oospec_async.training.data.readers.base import refers
from oospec_async.training.data.readers.literals import literal
from oospec_async.training.records import Call, Object

_TYPES: dict[str, tuple[type, ...]] = {
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}


def answered(request: Object, gold: Sequence[Call]) -> Object:
    """The request with its gold, and with what is accepted."""
    calls = [call.model_dump() for call in gold]
    return {**request, "gold": calls, "accepted": accepted(calls, request["tools"])}


def accepted(gold: Sequence[Object], tools: Sequence[Object]) -> list[Object]:
    """Each gold value, and the same value in its declared type (``"42"`` and ``42`` for an integer).

    An argument whose gold is "" may be left out. One whose gold is another call's result has no accepted values.
    """
    known = {tool.name: tool for tool in map(_tool, tools) if tool is not None}
    made: list[Object] = []
    for call in gold:
        tool = known.get(call["name"])
        values = {
            name: _values(value, tool.slot(name) if tool is not None else None)
            for name, value in call["arguments"].items()
        }
        optional = [name for name, value in call["arguments"].items() if value == ""]
        made.append({"name": call["name"], "arguments": values, "optional": optional})
    return made


def _tool(raw: Object) -> Tool | None:
    """None for one that no request may have: it is refused with the request."""
    with contextlib.suppress(ValidationError):
        return Tool.model_validate(raw["function"])
    return None


def _values(value: Json, slot: Parameter | None) -> list[Json]:
    if refers(value):
        return []
    other = typed(value, slot.kind) if slot is not None else value
    return [value] if type(other) is type(value) and other == value else [value, other]


def typed(value: Json, kind: str) -> Json:
    """A text as the value of a kind that it stands for, the value itself where it stands for none.

    ``"False"`` is a boolean, ``"3.0"`` a number, ``"['a']"`` an array. Other values stay as they are.
    """
    if not isinstance(value, str) or kind not in _TYPES:
        return value
    try:
        read = json.loads(value.lower() if kind == "boolean" else value)
    except (ValueError, RecursionError):
        read = literal(value)
    fits = isinstance(read, _TYPES[kind]) and (kind == "boolean") == isinstance(read, bool)
    return read if fits else value
