"""Answers of slots: when one is finished, and which value it is."""

from __future__ import annotations

import json
from dataclasses import dataclass

from oospec_async.hints import writable
from oospec_async.request import Json, Parameter


@dataclass(frozen=True)
class Answer:
    """A slot's value; ``omitted``: the argument is not to be written."""

    value: Json = None
    omitted: bool = False


def is_finished(text: str) -> bool:
    """Whether an answer is whole: its line has ended, or its JSON string, array or object is closed."""
    body = text.lstrip(" ")
    return "\n" in body or _bracketed(body) is not None


def read_answer(text: str, parameter: Parameter) -> Answer | None:
    """The value in an answer's text; None if it is no value of the parameter's kind."""
    body = text.strip(" ").split("\n", 1)[0].strip()
    if not body:
        return None
    if body[0] in _OPENINGS:
        closed = _bracketed(body)
        return None if closed is None else _coerced(closed[0], parameter)
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        value = body
    if value is None:
        return None if parameter.required else Answer(omitted=True)
    return _coerced(value, parameter)


_OPENINGS = '"[{'
_DECODER = json.JSONDecoder(strict=False)


def _bracketed(body: str) -> tuple[Json] | None:
    """The JSON string, array or object that ``body`` begins with, whatever follows it; None while it is not closed."""
    if body[:1] not in tuple(_OPENINGS):
        return None
    try:
        return (_DECODER.raw_decode(body)[0],)
    except (ValueError, RecursionError):
        return None


def _coerced(value: Json, parameter: Parameter) -> Answer | None:
    kind = parameter.kind
    if isinstance(value, str) and kind in ("integer", "number", "boolean", "array", "object"):
        try:
            value = json.loads(value.lower() if kind == "boolean" else value)
        except (ValueError, RecursionError):
            return None
    if kind == "string" and not isinstance(value, str):
        value = json.dumps(value, ensure_ascii=False)
    if kind == "integer" and isinstance(value, float) and value.is_integer():
        value = int(value)
    return Answer(value) if _fits(value, kind) and writable(value) else None


def _fits(value: Json, kind: str) -> bool:
    if isinstance(value, bool):
        return kind in ("boolean", "any")
    return kind not in _PYTHON_TYPES or isinstance(value, _PYTHON_TYPES[kind])


_PYTHON_TYPES: dict[str, tuple[type, ...]] = {
    "integer": (int,),
    "number": (int, float),
    "string": (str,),
    "array": (list,),
    "object": (dict,),
    "boolean": (bool,),
}
