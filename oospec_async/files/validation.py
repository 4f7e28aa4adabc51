"""Values checked by pydantic models; what is wrong with one is a line that names the field."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel, ValidationError

from oospec_async.errors import OospecError
from oospec_async.files.json_text import dotted

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

M = TypeVar("M", bound=BaseModel)

_HUGE = 10**30
# What pydantic says in Python's words, in those of JSON.
_EXPECTED = {
    "model_type": "an object",
    "model_attributes_type": "an object",
    "dict_type": "an object",
    "list_type": "a list",
    "tuple_type": "a list",
    "string_type": "text",
    "bool_type": "true or false",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_parsing_size": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a finite number",
}
_PLAINLY = {
    "missing": "missing",
    "too_short": "should not be empty",
    "extra_forbidden": "unknown; remove it, or read it with the version that wrote it",
}


def validated(kind: type[M], value: object, where: str, expected: str) -> M:
    """The value as a model. Raises OospecError, one line: ``where``, the first field that is wrong, and why.

    ``expected`` says what the whole is: "a row".
    """
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        raise OospecError(f"{where}: {next(problems(error, expected))}") from None


def validated_json(kind: type[M], text: bytes | str, where: str, expected: str) -> M:
    """As ``validated``, of JSON text."""
    try:
        return kind.model_validate_json(text)
    except ValidationError as error:
        raise OospecError(f"{where}: {next(problems(error, expected))}") from None


def problems(error: ValidationError, expected: str) -> Iterator[str]:
    """Everything that is wrong, each in a line that begins with the field."""
    for each in error.errors():
        field = dotted(each["loc"])
        yield f"{field}: {_problem(each)}" if field else _of_the_whole(each, expected)


def shown(value: object) -> str:
    """A value in an error: of a long one only its beginning, of a list or an object only its type."""
    if isinstance(value, list | tuple | dict):
        return type(value).__name__
    if isinstance(value, int) and abs(value) > _HUGE:  # Python refuses to write thousands of digits
        return "a number of more than 30 digits"
    whole = repr(value)
    return whole if len(whole) <= 40 else f"{whole[:30]}…"


def _of_the_whole(error: ErrorDetails, expected: str) -> str:
    if error["type"] == "json_invalid":
        return f"not JSON ({error['msg'].removeprefix('Invalid JSON: ')}); {expected} is expected"
    if error["type"] in _EXPECTED:
        return f"{expected} is expected, not {shown(error['input'])}"
    return _problem(error)


def _problem(error: ErrorDetails) -> str:
    kind, message = error["type"], error["msg"]
    if kind == "value_error":
        return message.removeprefix("Value error, ")
    if kind in _PLAINLY:
        return _PLAINLY[kind]
    return f"{f'{_EXPECTED[kind]} is expected' if kind in _EXPECTED else message}, not {shown(error['input'])}"
