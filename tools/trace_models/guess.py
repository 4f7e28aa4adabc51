"""What a sidecar answers: the gold calls, wrong as often as a trained sidecar has been published to be."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from oospec_async.request import Json, Parameter, Request
from oospec_async.sidecar.questions import NONE
from oospec_async.toolcall import ToolCall

FUNCTION_RIGHT, ARGUMENT_RIGHT = 0.963, 0.861
SOURCE = (
    "an independent reproduction of OoO-Spec (arXiv 2608.00814; Qwen2.5-7B target): "
    "function accuracy 96.3%, argument exact match 86.1%"
)
_OMITTED = None  # what an answer says of an argument that is left out


@dataclass(frozen=True)
class Guess:
    """Names of the calls, in order and with ``NONE`` after the last, and values by (function, its call, argument).

    Counted: choices of a function, and arguments, with those of them that were left right.
    """

    names: Sequence[str]
    values: Mapping[tuple[str, int, str], Json]
    functions: int
    functions_right: int
    arguments: int
    arguments_right: int

    def name(self, number: int) -> str:
        """Of the ``number``-th call, from 1."""
        return self.names[number - 1] if number <= len(self.names) else NONE


def corrupted(request: Request, gold: Sequence[ToolCall], chance: random.Random) -> Guess:
    """A sidecar that is right as often as published, for every call's function and every argument on its own."""
    names: list[str] = []
    choices = choices_right = 0
    for number, right in enumerate([*(call.name for call in gold), NONE], start=1):
        offered = [tool.name for tool in request.tools] + ([NONE] if number > 1 else [])
        others = [name for name in offered if name != right]
        wrong = bool(others) and chance.random() >= FUNCTION_RIGHT
        names.append(chance.choice(others) if wrong else right)
        choices, choices_right = choices + bool(others), choices_right + (bool(others) and not wrong)
    values: dict[tuple[str, int, str], Json] = {}
    spoilt = 0
    counts: dict[str, int] = {}
    for call in gold:
        counts[call.name] = counts.get(call.name, 0) + 1
        tool = request.tool(call.name)
        for slot in tool.slots if tool is not None else ():
            value = call.arguments.get(slot.name, _OMITTED)
            if chance.random() >= ARGUMENT_RIGHT:
                spoilt += 1
                value = _wrong(value, slot, request, chance)
            values[call.name, counts[call.name], slot.name] = value
    return Guess(names, values, choices, choices_right, len(values), len(values) - spoilt)


def filler(slot: Parameter, request: Request, chance: random.Random) -> Json:
    """An answer about a function that is not called: null where that is allowed, else a value of its kind."""
    if not slot.required:
        return _OMITTED
    if slot.enum:
        return chance.choice(slot.enum)
    return {
        "integer": 1,
        "number": 0.5,
        "boolean": True,
        "array": [],
        "object": {},
    }.get(slot.kind, _words(request, chance))


def _wrong(value: Json, slot: Parameter, request: Request, chance: random.Random) -> Json:
    """Another value than ``value``, of the same kind: a near miss, as those of a trained sidecar are."""
    if value is _OMITTED:
        required = slot.model_copy(update={"required": True})
        return filler(required, request, chance)
    if not slot.required and chance.random() < 0.5:
        return _OMITTED
    others = [option for option in slot.enum if option != value]
    if others:
        return chance.choice(others)
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + chance.choice([1, 10, -1])
    if isinstance(value, str):
        words = value.split(" ")
        return " ".join(words[:-1]) if len(words) > 1 else value + " " + _words(request, chance)
    if isinstance(value, list):
        return value[:-1] if value else [_words(request, chance)]
    if isinstance(value, dict) and value:
        key = next(reversed(value))
        return {k: v for k, v in value.items() if k != key}
    return _words(request, chance)


def _words(request: Request, chance: random.Random) -> str:
    """One to three words of the last message."""
    words = str(request.messages[-1].content).split()
    start = chance.randrange(len(words)) if words else 0
    return " ".join(words[start : start + chance.randint(1, 3)]).strip(".,?!\"'") or "other"
