"""JSON text to values, refused by its path where it could not be written again."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from oospec_async.errors import OospecError

_DEEPEST = 100  # levels of a JSON value: below what any later step that recurses can bear


def numbered_lines(text: str, path: Path) -> Iterator[tuple[int, str, str]]:
    """Number, place ("FILE:LINE") and text of each line that is not blank."""
    # Not splitlines(): U+2028 and friends are legal inside JSON strings.
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield number, f"{path}:{number}", line


def json_lines(text: str, path: Path, expected: str) -> Iterator[tuple[int, str, Any]]:
    """Number, place and value of each of those lines. Raises as ``load_json`` does."""
    for number, where, line in numbered_lines(text, path):
        yield number, where, load_json(line, where, expected)


def load_json(text: str, where: str, expected: str) -> Any:
    """Parse one JSON value. Raises OospecError, one line, naming ``where`` and saying what is ``expected`` there.

    Stricter than ``json.loads``: what could not be encoded or written as JSON again is refused here, by its path.
    """
    try:
        value = json.loads(text)
    except RecursionError:
        raise OospecError(f"{where}: nested too deeply; at most {_DEEPEST} levels are read") from None
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}" if "\n" in text else f"column {error.colno}"
        raise OospecError(f"{where}: not JSON ({error.msg} at {place}); {expected} is expected") from None
    except ValueError:  # the interpreter's limit on the digits of an integer
        raise OospecError(f"{where}: a number has too many digits") from None
    _refuse_unwritable(value, where, ())
    return value


def _refuse_unwritable(value: Any, where: str, path: tuple[str | int, ...]) -> None:
    reason = ""
    if len(path) > _DEEPEST:
        raise OospecError(f"{where}: nested too deeply; at most {_DEEPEST} levels are read")
    if isinstance(value, str):
        reason = "" if value.isascii() or _encodes(value) else "half of a surrogate pair is not text"
    elif isinstance(value, float):
        reason = "" if math.isfinite(value) else f"{value} is not a JSON number"
    elif isinstance(value, dict):
        for key, item in value.items():
            _refuse_unwritable(key, where, (*path, key))
            _refuse_unwritable(item, where, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _refuse_unwritable(item, where, (*path, index))
    if reason:
        raise OospecError(f"{where}: {dotted(path) or 'value'}: {reason}")


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def dotted(path: Iterable[str | int]) -> str:
    """A field's path as errors name it, in one line: a key may hold a line break."""
    return ".".join(str(part) if str(part).isprintable() else ascii(part) for part in path)
