"""Things from a registry written as text: ``NAME`` or ``NAME:KEY=VALUE,…``; the keys are a dataclass's numbers."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields
from typing import Any, TypeVar

from oospec_async.errors import OospecError
from oospec_async.files.validation import shown

T = TypeVar("T")


def parse(text: str, registry: Mapping[str, type[T]], what: str) -> T:
    """Raises OospecError, naming ``what``, for an unknown name, key or value."""
    name, _, rest = (piece.strip() for piece in text.partition(":"))
    kind: Any = registry.get(name)
    if kind is None:
        raise OospecError(f"{what} {name!r} is unknown; {suggestion(name, registry)}")
    known = {field.name: field for field in fields(kind)}
    values: dict[str, float] = {}
    for part in rest.split(",") if rest else ():
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if key not in known or not equals:
            hint = suggestion(key, known) if known else "it takes no parameters"
            raise OospecError(f"{what} {name}: {part.strip()!r} is no KEY=VALUE that it takes; {hint}")
        values[key] = _number(value, whole=str(known[key].type).startswith("int"), what=f"{what} {name}: {key}")
    for field in known.values():
        if field.default is MISSING and field.name not in values:
            raise OospecError(f"{what} {name}: {field.name} is missing; write {name}:{field.name}=NUMBER")
    made: T = kind(**values)
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


def within(thing: Any, name: str, least: float, most: float, what: str) -> None:
    """Raises OospecError, beginning with ``what``, unless a parameter lies within sane limits."""
    value = getattr(thing, name)
    if not least <= value <= most:
        raise OospecError(f"{what} {thing.name}: {name} must be from {least:g} to {most:g}, not {shown(value)}")


def _number(text: str, *, whole: bool, what: str) -> float:
    try:
        value = int(text) if whole else float(text)
    except ValueError:
        raise OospecError(f"{what} must be a {'whole ' if whole else ''}number, not {shown(text)}") from None
    if isinstance(value, float) and not math.isfinite(value):
        raise OospecError(f"{what} must be finite, not {shown(text)}")
    return value
