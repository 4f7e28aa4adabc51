"""Write a call, or the rest of a half-written one: literal parts, keys and known values, spaced as written so far."""

from __future__ import annotations

from dataclasses import dataclass

from oospec_async.dialects.dialect import Spacing, quote
from oospec_async.dialects.partial_json import At, Cursor, Frame
from oospec_async.request import Json


@dataclass(frozen=True)
class Unknown:
    """A value that nobody knows: writing stops there, after ``opening`` (the quote of a string, say)."""

    opening: str = ""
    slot: str = ""  # whose value it is
    options: tuple[Json, ...] = ()  # what it may be, where the schema tells


class Partial(dict[str, Json]):
    """An object to which members not listed here may be added: writing stops after the last one."""


class _Raw(str):
    """A value given as JSON text."""


@dataclass(frozen=True)
class Continuation:
    text: str
    whole: bool  # the object is finished with this text
    stopped_at: Unknown | None = None  # the value that was not known


class _Stop(Exception):
    def __init__(self, unknown: Unknown | None = None) -> None:
        self.unknown = unknown


def render_object(value: dict[str, Json], spacing: Spacing) -> Continuation:
    """Write an object from its opening brace on, up to the first unknown value."""
    writer = _Writer(spacing)
    try:
        writer.value(value, 0)
    except _Stop as stop:
        return Continuation(writer.text, False, stop.unknown)
    return Continuation(writer.text, True)


def continue_object(text: str, cursor: Cursor, expected: dict[str, Json], spacing: Spacing) -> Continuation:
    """Write the rest of the object that ``text`` ends in, expecting it to become ``expected``.

    Finished members are left as they are, whatever was expected of them; expected members that are missing follow in
    their order. An unknown value that is being written is taken for finished. Where the unfinished key or value is no
    beginning of what is expected, nothing is written.
    """
    frames = cursor.frames
    containers: list[Json] = [expected]
    for frame in frames[:-1]:
        containers.append(_member(containers[-1], frame.key))
    writer = _Writer(spacing.observed(cursor.gaps))
    whole, unknown = True, None
    try:
        for depth in range(len(frames), 0, -1):  # from the inside out
            frame, container = frames[depth - 1], containers[depth - 1]
            inner = cursor if depth == len(frames) else None
            left, empty = _left(frame, container, inner), not frame.members and inner is not None
            writer.members(left, container, depth, empty=empty)
    except _Stop as stop:
        whole, unknown = False, stop.unknown
    rest = _after(writer.text, text[frames[-1].end :])
    return Continuation("", False, unknown) if rest is None else Continuation(rest, whole, unknown)


_LONGEST = 2000  # characters; bounds the time that a monstrous hint can cost


class _Writer:
    def __init__(self, spacing: Spacing) -> None:
        self.spacing = spacing
        self.text = ""

    def value(self, value: Json, depth: int) -> None:
        """Write a value whose own brackets stand at ``depth``."""
        if len(self.text) > _LONGEST:
            raise _Stop
        if isinstance(value, Unknown):
            self.text += value.opening
            raise _Stop(value)
        if isinstance(value, (dict, list)):
            self.text += "{" if isinstance(value, dict) else "["
            self.members(_items(value), value, depth + 1, empty=True)
        else:
            self.text += value if isinstance(value, _Raw) else quote(value)

    def members(self, left: list[tuple[str, Json]], container: Json, depth: int, *, empty: bool) -> None:
        """Write members that stand at ``depth`` and the closing bracket; ``empty`` if none is written yet."""
        is_object = isinstance(container, dict)
        for key, value in left:
            if empty:
                self.text += self.spacing.inside(is_object, depth)
            else:
                self.text += "," + self.spacing.between(is_object, depth)
            empty = False
            if is_object:
                self.text += quote(key) + ":" + self.spacing.colon
            self.value(value, depth)
        if isinstance(container, Partial):
            raise _Stop
        self.text += ("" if empty else self.spacing.closing(is_object, depth)) + ("}" if is_object else "]")


def _items(container: Json) -> list[tuple[str, Json]]:
    if isinstance(container, dict):
        return [(str(key), value) for key, value in container.items()]
    return [(str(index), value) for index, value in enumerate(container)]


def _member(container: Json, key: str) -> Json:
    """The expected value of a member: Unknown where nothing is expected of it."""
    if isinstance(container, dict):
        return container.get(key, Unknown())
    if isinstance(container, list) and key.isdecimal() and int(key) < len(container):
        return container[int(key)]
    return Unknown()


def _left(frame: Frame, container: Json, cursor: Cursor | None) -> list[tuple[str, Json]]:
    """Members still to be written, the one that is being written first. ``cursor`` is given for the innermost frame."""
    if not isinstance(container, dict if frame.is_object else list):
        raise _Stop
    left = [item for item in _items(container) if item[0] not in frame.members]
    if cursor is None:
        return [item for item in left if item[0] != frame.key]
    if cursor.at is At.IN_KEY:
        begun = [item for item in left if quote(item[0]).startswith(cursor.partial)][:1]
        if not begun:
            raise _Stop
        return begun + [item for item in left if item is not begun[0]]
    if cursor.at in (At.COLON, At.IN_STRING, At.IN_SCALAR) or (cursor.at is At.VALUE and frame.is_object):
        value = _member(container, frame.key)
        if isinstance(value, Unknown) and not value.options:  # of unknown length: take it for finished
            if cursor.at is At.IN_SCALAR:
                value = _Raw(cursor.partial)
            elif cursor.at is At.IN_STRING and len(cursor.partial) > 1:
                value = _Raw(cursor.partial + '"')
        return [(frame.key, value), *(item for item in left if item[0] != frame.key)]
    return left


def _after(expected: str, written: str) -> str | None:
    """What is left of ``expected`` after ``written``, white space between tokens aside; None if they differ."""
    i, in_string, escaped, loose = 0, False, False, False
    for char in written:
        loose = False
        while True:
            if i < len(expected) and expected[i] == char:
                if in_string and not escaped and char == "\\":
                    escaped = True
                else:
                    in_string ^= char == '"' and not escaped
                    escaped = False
                i += 1
            elif not in_string and char.isspace():
                loose = True  # space that was not expected
            elif not in_string and i < len(expected) and expected[i].isspace():
                i += 1  # expected space that was left out
                continue
            else:
                return None
            break
    return expected[i:].lstrip() if loose else expected[i:]
