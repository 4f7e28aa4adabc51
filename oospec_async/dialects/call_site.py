"""Find the calls in an output that is still being written, and where in the next one its end stands."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from dataclasses import dataclass

from oospec_async.dialects.dialect import ARGUMENT_KEYS
from oospec_async.dialects.partial_json import Cursor, Frame, Gaps, Whole, scan
from oospec_async.request import Json

THINK, THINK_END = "<think>", "</think>"
NAME_KEYS = ("name", "function")
_ABOUT_CALLS = {*NAME_KEYS, "type", "id", "index"}  # keys that an object of nothing but a call's name may have
# What says that a call follows, and what says that its arguments stand elsewhere.
_MARK = re.compile(r'(?:<\w*tool_call\w*>|"type"\s*:\s*"function"\s*,\s*"function"\s*:)\s*\Z')
_LONGEST_MARK = 64
_ELSEWHERE = re.compile(r'\s*,\s*"(?:arguments|parameters)"')


@dataclass(frozen=True)
class FoundCall:
    """A finished call in an output: ``text[start:end]`` is its JSON object."""

    name: str
    arguments: dict[str, Json]
    start: int
    end: int
    name_key: str
    arguments_key: str  # "" where it has no arguments
    gaps: Gaps


@dataclass(frozen=True)
class CallSite:
    """Where an output stands. ``start`` is the offset of the object at ``cursor``, else of the text after the calls."""

    calls: tuple[FoundCall, ...]
    cursor: Cursor | None
    start: int
    thinking: bool

    @property
    def after(self) -> int:
        """Offset after the last finished call; 0 without one."""
        return self.calls[-1].end if self.calls else 0


def locate(text: str, *, thinking: bool = False, offered: Collection[str] = ()) -> CallSite:
    """Locate the calls in ``text``. ``thinking``: the prompt has opened a ``<think>`` block.

    An object with a name and no arguments is a call if it is marked as one, or if its name is ``offered``.

    Braces are matched by JSON, not counted: one inside a string closes nothing, and one in prose opens nothing. What a
    think block holds is no call. Objects around calls (``{"tool_calls": [...]}``) are looked into.
    """
    calls: list[FoundCall] = []
    i = tail = 0
    while True:
        if thinking:
            end = text.find(THINK_END, i)
            if end < 0:
                return CallSite(tuple(calls), None, i, True)
            i = tail = end + len(THINK_END)
        brace, think = text.find("{", i), text.find(THINK, i)
        thinking = think >= 0 and (brace < 0 or think < brace)
        if thinking:
            i = think + len(THINK)
            continue
        if brace < 0:
            return CallSite(tuple(calls), None, tail, False)
        i = brace + 1
        found = scan(text, brace)
        if isinstance(found, Cursor) and _may_be_call(found):
            return CallSite(tuple(calls), found, brace, False)
        if isinstance(found, Whole) and (call := _as_call(text, brace, found, offered)):
            calls.append(call)
            i = tail = found.end


def _may_be_call(cursor: Cursor) -> bool:
    root = cursor.frames[0]
    keys = list(root.members) or ([root.key] if root.key else [])
    if keys:
        return keys[0] in NAME_KEYS + ARGUMENT_KEYS
    return any(f'"{key}'.startswith(cursor.partial) for key in NAME_KEYS + ARGUMENT_KEYS)


def _as_call(text: str, start: int, found: Whole, offered: Collection[str]) -> FoundCall | None:
    name_key, arguments_key = keys_of(found.root)
    if name_key is None or (arguments_key is None and not _ABOUT_CALLS.issuperset(found.root.members)):
        return None
    try:
        value = json.loads(text[start : found.end], strict=False)
        name, arguments = value[name_key], value.get(arguments_key)
        if isinstance(arguments, str):  # some models quote the whole object
            arguments = json.loads(arguments.strip() or "null", strict=False)
    except (ValueError, RecursionError):
        return None
    if not isinstance(name, str) or not isinstance(arguments, dict | None):
        return None
    if arguments_key is None:
        marked = _MARK.search(text, max(0, start - _LONGEST_MARK), start)
        if not (marked or name in offered) or _ELSEWHERE.match(text, found.end):
            return None
    return FoundCall(name, arguments or {}, start, found.end, name_key, arguments_key or "", found.gaps)


def keys_of(root: Frame) -> tuple[str | None, str | None]:
    """Which keys hold the function name and the arguments, as far as they are written."""
    keys = [*root.members, *([root.key] if root.key else [])]
    name = next((key for key in keys if key in NAME_KEYS), None)
    return name, next((key for key in keys if key in ARGUMENT_KEYS), None)
