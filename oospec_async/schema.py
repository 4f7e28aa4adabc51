"""What a parameter's JSON schema says, in plain form: references followed, alternatives and parts joined.

Schemas are advice for drafts. One that lies, or runs in a circle, says less, and never is an error.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import Any, Literal
from urllib.parse import unquote

Json = Any  # any JSON value
Kind = Literal["string", "integer", "number", "boolean", "array", "object", "null", "any"]

# What schemas in the wild call the JSON types (BFCL's Python, Java and JavaScript files, API-Bank, Seal-Tools).
_KINDS: dict[str, Kind] = {
    "string": "string", "str": "string", "char": "string", "date": "string", "datetime": "string", "time": "string",
    "integer": "integer", "int": "integer", "long": "integer", "short": "integer", "byte": "integer",
    "number": "number", "float": "number", "double": "number",
    "boolean": "boolean", "bool": "boolean",
    "array": "array", "list": "array", "tuple": "array", "arraylist": "array", "set": "array",
    "object": "object", "dict": "object", "hashmap": "object", "map": "object",
    "null": "null", "none": "null",
}  # fmt: skip
_KINDS_OF_VALUES: dict[type, Kind] = {
    str: "string", bool: "boolean", int: "integer", float: "number", list: "array", dict: "object", type(None): "null",
}  # fmt: skip


def kind_of(schema: Json) -> Kind:
    """The JSON kind that a parameter schema declares; ``any`` where it declares none, several or an unknown one."""
    declared = schema.get("type") if isinstance(schema, dict) else None
    if isinstance(declared, list):
        return _common(kind_of({"type": each}) if isinstance(each, str) else "any" for each in declared)
    if not isinstance(declared, str):
        return "any"
    return _KINDS.get(declared.lower().split("[")[0].split("(")[0].strip(), "any")


def _common(kinds: Iterable[Kind]) -> Kind:
    """The one kind that all of them are, null aside; an integer is a number too."""
    several = {*kinds} - {"null"}
    if several == {"integer", "number"}:
        return "number"
    return several.pop() if len(several) == 1 else "any"


def plain(schema: dict[str, Json]) -> dict[str, Json]:
    """``schema`` in the words that drafts are made from: ``type``, ``enum``, ``properties``, ``required``, ``items``.

    What is in plain form already stays as it is.
    """
    found = _Resolver(schema).plain(schema)
    return found if isinstance(found, dict) else {}


_DEEPEST = 16  # levels, of nesting and of indirection; drafts are made from the first few
_MOST_FOLLOWED = 500  # schemas read by way of references: a few that name each other could unfold to millions
_JOINED = ("$ref", "allOf", "anyOf", "oneOf", "const")
_OUTERMOST = ("type", "enum", "const", "description")  # of a schema within itself: what is not inside it again


class _Resolver:
    def __init__(self, root: Json) -> None:
        self._root = root
        self._left = _MOST_FOLLOWED

    def plain(self, schema: Json, refs: tuple[str, ...] = (), depth: int = 0) -> Json:
        """``refs``: the references that have led here."""
        if refs:
            self._left -= 1
            if self._left < 0:
                return {}
        if not isinstance(schema, dict) or depth > _DEEPEST:
            return schema

        def inner(part: Json) -> Json:
            return self.plain(part, refs, depth + 1)

        own = {key: value for key, value in schema.items() if key not in _JOINED}
        if isinstance(properties := own.get("properties"), dict):
            own["properties"] = {key: inner(value) for key, value in properties.items()}
        if "items" in own:
            own["items"] = inner(own["items"])
        parts = []
        if isinstance(ref := schema.get("$ref"), str):
            target = self._target(ref)
            if ref in refs:
                target = {key: target[key] for key in _OUTERMOST if key in target} if isinstance(target, dict) else {}
            parts.append(self.plain(target, (*refs, ref), depth + 1))
        parts += [inner(part) for part in _list(schema.get("allOf"))]
        parts += [_either([inner(part) for part in _list(schema.get(key))]) for key in ("anyOf", "oneOf")]
        if "const" in schema:
            parts.append(_one_of([schema["const"]]))
        return reduce(_both, [part for part in parts if isinstance(part, dict)] + [own])

    def _target(self, ref: str) -> Json:
        """What a reference within the document points to; None where nothing is there."""
        if not ref.startswith("#"):
            return None
        found = self._root
        for step in unquote(ref).split("/")[1:]:
            if isinstance(found, list):
                found = {str(index): item for index, item in enumerate(found)}
            found = found.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(found, dict) else None
        return found


def _both(first: dict[str, Json], second: dict[str, Json]) -> dict[str, Json]:
    """What holds where both do; where they differ the second, nearer one is taken."""
    joined = {**first, **second}
    for key in first.keys() & second.keys():
        one, other = first[key], second[key]
        if key == "properties" and isinstance(one, dict) and isinstance(other, dict):
            joined[key] = {**one, **other}
        elif key == "required" and isinstance(one, list) and isinstance(other, list):
            joined[key] = one + other
        elif key == "enum" and isinstance(one, list) and isinstance(other, list):
            joined[key] = [value for value in one if value in other] or other
    return joined


def _either(parts: list[Json]) -> dict[str, Json]:
    """What holds where any of them does. That a value may be null says nothing about what it is otherwise."""
    live = [part if isinstance(part, dict) else {} for part in parts if part is not False and kind_of(part) != "null"]
    if len(live) == 1:
        return live[0]
    if live and all(isinstance(part.get("enum"), list) for part in live):
        return _one_of([value for part in live for value in part["enum"]])
    return _of_kind(_common(kind_of(part) for part in live))


def _one_of(values: list[Json]) -> dict[str, Json]:
    kinds = {_KINDS_OF_VALUES.get(type(value), "any") for value in values}
    return {**({"type": "null"} if kinds == {"null"} else _of_kind(_common(kinds))), "enum": values}


def _of_kind(kind: Kind) -> dict[str, Json]:
    return {} if kind == "any" else {"type": kind}


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []
