"""Things from a registry written as text: ``NAME`` or ``NAME:KEY=VALUE,…``; the keys are a dataclass's numbers."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any, TypeVar

from pydantic import AfterValidator, TypeAdapter, ValidationError

from oospec_async.errors import OospecError
from oospec_async.files.validation import problems, shown

T = TypeVar("T")


def parse(text: str, registry: Mapping[str, type[T]], what: str) -> T:
    """Raises OospecError, naming ``what``, for an unknown name, key or value."""
    name, _, rest = (piece.strip() for piece in text.partition(":"))
    kind: Any = registry.get(name)
    if kind is None:
        raise OospecError(f"{what} {name!r} is unknown; {suggestion(name, registry)}")
    known = [field.name for field in fields(kind)]
    values: dict[str, str] = {}
    for part in rest.split(",") if rest else ():
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if key not in known or not equals:
            hint = suggestion(key, known) if known else "it takes no parameters"
            raise OospecError(f"{what} {name}: {part.strip()!r} is no KEY=VALUE that it takes; {hint}")
        values[key] = value
    try:
        made: T = TypeAdapter(kind).validate_python(values)
    except ValidationError as error:
        raise OospecError(f"{what} {name}: {next(problems(error, what))}; write {name}:KEY=NUMBER") from None
    return made


def text_of(thing: Any) -> str:
    """What ``parse`` reads as this thing, with all parameters that have a value."""
    given = [
        f"{field.name}={getattr(thing, field.name):.12g}"
        for field in fields(thing)
        if getattr(thing, field.name) is not None
    ]
    return f"{thing.name}:{','.join(given)}" if given else str(thing.name)


def suggestion(name: str, known: Iterable[str]) -> str:
    """The end of an error about an unknown name."""
    names = list(known)
    close = difflib.get_close_matches(name, names, n=1)
    return f"did you mean {close[0]!r}?" if close else f"known are {', '.join(names)}"


def within(least: float, most: float) -> AfterValidator:
    """Of a parameter: what it may be."""

    def check(value: float) -> float:
        if not least <= value <= most:
            raise ValueError(f"must be from {least:g} to {most:g}, not {shown(value)}")
        return value

    return AfterValidator(check)
