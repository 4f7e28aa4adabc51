"""Hints: what the sidecar guesses, as values, and their compact form on the channel."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from oospec_async.request import Json, Tool


@dataclass(frozen=True)
class CallHint:
    """One guessed call. A slot that is neither in ``arguments`` nor in ``omitted`` is not ready."""

    function: str
    arguments: dict[str, Json] = field(default_factory=dict)
    omitted: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Hint:
    """The joined slot values of a wave. Later versions carry more slots."""

    calls: tuple[CallHint, ...]
    version: int = 1

    @property
    def ready_slots(self) -> int:
        return sum(len(call.arguments) + len(call.omitted) for call in self.calls)


def encode_hint(hint: Hint) -> bytes:
    """The payload: values only, without version or addressing (those belong to the channel's message).

    A flat list: of each call the function (unless it is that of the call before), its arguments, and what is left out,
    if anything is.
    """
    items: list[Json] = []
    function = None
    for call in hint.calls:
        items += [call.function] if call.function != function else []
        items += [call.arguments]
        items += [sorted(call.omitted)] if call.omitted else []
        function = call.function
    return json.dumps(items, ensure_ascii=False, separators=(",", ":")).encode()


def decode_hint(payload: bytes, version: int, tools: Sequence[Tool]) -> Hint | None:
    """Read a payload that may hold anything. What the tools do not define is dropped; None if no call is left.

    Never raises: a hint is advice.
    """
    try:
        raw = json.loads(payload.decode("utf-8"))
        calls = [call for parts in _by_call(raw) if (call := _call(*parts, tools)) is not None]
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    return Hint(tuple(calls), version) if calls else None


_MOST_CALLS = 16


def _by_call(raw: Json) -> list[tuple[str, dict[str, Json], list[Json]]]:
    """Function, arguments and what is left out, of each call in a flat list; what is none of these is passed over."""
    calls: list[tuple[str, dict[str, Json], list[Json]]] = []
    function = ""
    for item in raw if isinstance(raw, list) else ():
        if isinstance(item, str):
            function = item
        elif isinstance(item, dict) and len(calls) < _MOST_CALLS:
            calls.append((function, item, []))
        elif isinstance(item, list) and calls:
            calls[-1][2].extend(item)
    return calls


def _call(function: str, arguments: dict[str, Json], omitted: Sequence[Json], tools: Sequence[Tool]) -> CallHint | None:
    tool = next((tool for tool in tools if tool.name == function), None)
    if tool is None:
        return None
    names = {slot.name for slot in tool.slots}
    known = {key: value for key, value in arguments.items() if key in names and writable(value)}
    return CallHint(tool.name, known, frozenset(o for o in omitted if isinstance(o, str) and o in names - known.keys()))


_DEEPEST = 32  # levels of nesting; rendering recurses


def writable(value: Json) -> bool:
    """Whether a value can be written as text: not absurdly deep, and no lone surrogates (JSON, but no text)."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    level = [value]
    for _ in range(_DEEPEST):
        level = [
            child
            for item in level
            for child in (item.values() if isinstance(item, dict) else item if isinstance(item, list) else ())
        ]
    return not level
