"""A scanner for JSON that is still being written.

``json.loads`` answers only for whole values. Drafting needs to know *where in the value* a half-written text stands:
inside which containers, after which keys, within which string. ``scan`` answers that for any prefix of a JSON object,
whatever its spacing, and says so when the text can no longer become one.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Literal

_SPACE = re.compile(r"[ \t\r\n]*")
# A raw newline inside a string is not JSON, but models write it, and it ends nothing.
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_PARTIAL_STRING = re.compile(r'"(?:[^"\\]|\\.)*\\?\Z', re.DOTALL)
_SCALAR = re.compile(r"[-+.0-9A-Za-z]+")


class At(Enum):
    """What the half-written text waits for."""

    FIRST_KEY = auto()  # after "{": a key or "}"
    KEY = auto()  # after "," in an object
    IN_KEY = auto()  # inside the quotes of a key
    COLON = auto()  # after a key
    FIRST_ITEM = auto()  # after "[": a value or "]"
    VALUE = auto()  # after ":" or after "," in an array
    IN_STRING = auto()  # inside the quotes of a string value
    IN_SCALAR = auto()  # within or right after a number or literal
    AFTER_VALUE = auto()  # after a finished value: "," or the closing bracket


Gap = Literal["{", "}", ":", ",}", "[", "]", ",]"]
Gaps = dict[Gap, str]


@dataclass
class Frame:
    """A container: its finished members (raw text; those of an array are keyed "0", "1", …)."""

    is_object: bool
    start: int  # offset of its opening bracket
    members: dict[str, str] = field(default_factory=dict)
    key: str = ""  # the member that is being written, or was written last
    end: int = 0  # offset after the opening bracket or after the last finished member

    def finish(self, raw: str, end: int) -> None:
        self.members[self.key] = raw
        self.end = end


@dataclass(frozen=True)
class Cursor:
    """Where a half-written object stands. ``frames`` runs from the outermost container to the innermost."""

    at: At
    frames: list[Frame]
    partial: str  # raw text of the unfinished key, string or scalar, with its opening quote
    gaps: Gaps  # white space after the first "{", last seen after ":", … and before "}", "]"


@dataclass(frozen=True)
class Whole:
    """A finished object: where it ends in the text (exclusive), and the spacing that it was written with."""

    end: int
    root: Frame
    gaps: Gaps


def scan(text: str, start: int = 0) -> Cursor | Whole | None:
    """Scan the JSON object that begins at ``text[start] == "{"``.

    Returns a Cursor where the text ends inside the object, Whole where the object ends inside the text, None where
    the text cannot be the beginning of a JSON object. Linear in the length of the object.
    """
    if text[start : start + 1] != "{":
        return None
    frames = [Frame(is_object=True, start=start, end=start + 1)]
    gaps: Gaps = {}
    at, i = At.FIRST_KEY, start + 1
    while True:
        frame = frames[-1]
        gap = _SPACE.match(text, i).group()  # type: ignore[union-attr]  # matches the empty string too
        i += len(gap)
        if i == len(text):
            return Cursor(at, frames, "", gaps)
        char = text[i]
        if char in "}]" and at in (At.FIRST_KEY, At.FIRST_ITEM, At.AFTER_VALUE):
            if (char == "}") is not frame.is_object:
                return None
            if at is At.AFTER_VALUE:
                gaps["}" if frame.is_object else "]"] = gap
            i, at = i + 1, At.AFTER_VALUE
            frames.pop()
            if not frames:
                return Whole(i, frame, gaps)
            frames[-1].finish(text[frame.start : i], i)
        elif at in (At.FIRST_KEY, At.KEY):
            if at is At.KEY:
                gaps[",}"] = gap
            else:
                gaps.setdefault("{", gap)  # the outermost object tells the unit of indentation
            match = _STRING.match(text, i)
            if match is None:
                return _unfinished_string(At.IN_KEY, text, i, frames, gaps)
            frame.key, i, at = unquote(match.group()), match.end(), At.COLON
        elif at is At.COLON:
            if char != ":":
                return None
            i, at = i + 1, At.VALUE
        elif at is At.AFTER_VALUE:
            if char != ",":
                return None
            i, at = i + 1, At.KEY if frame.is_object else At.VALUE
        else:  # a value begins
            if frame.is_object:
                gaps[":"] = gap
            else:
                gaps["[" if at is At.FIRST_ITEM else ",]"] = gap
                frame.key = str(len(frame.members))
            if char in "{[":
                frames.append(Frame(is_object=char == "{", start=i, end=i + 1))
                i, at = i + 1, At.FIRST_KEY if char == "{" else At.FIRST_ITEM
                continue
            match = (_STRING if char == '"' else _SCALAR).match(text, i)
            if match is None:
                return _unfinished_string(At.IN_STRING, text, i, frames, gaps)
            if char != '"' and match.end() == len(text):
                return Cursor(At.IN_SCALAR, frames, match.group(), gaps)
            i, at = match.end(), At.AFTER_VALUE
            frame.finish(match.group(), i)


def _unfinished_string(at: At, text: str, start: int, frames: list[Frame], gaps: Gaps) -> Cursor | None:
    match = _PARTIAL_STRING.match(text, start)
    return Cursor(at, frames, match.group(), gaps) if match else None


_DECODER = json.JSONDecoder(strict=False)  # json.loads would make one for every call


def unquote(raw: str) -> str:
    """The value of a quoted JSON string; invalid escapes are kept as they stand."""
    try:
        value = _DECODER.decode(raw)
    except (ValueError, RecursionError):  # a number of thousands of digits, say: no name at all
        return raw[1:-1]
    return value if isinstance(value, str) else raw[1:-1]
