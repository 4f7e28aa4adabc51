"""How good a sidecar's guesses are: against accepted answers, and against the calls that a target really made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from oospec_async.hints import CallHint
from oospec_async.request import Json, Request
from oospec_async.training.records import Object, Record


class Expected(Record):
    """One call that is right. ``arguments``: accepted values of each, any value where there are none.

    ``optional``: arguments that may be left out though they have values; what is not named must be left out.
    """

    name: str
    arguments: dict[str, list[Json]]
    optional: list[str]


def exactly(calls: Iterable[tuple[str, Object]]) -> list[Expected]:
    """Calls, by name and arguments, of which each value is the only one that is right."""
    return [Expected(name=name, arguments={k: [v] for k, v in each.items()}, optional=[]) for name, each in calls]


@dataclass
class Score:
    """Counts over requests with at least one expected call. An argument is a parameter of a call that is expected."""

    requests: int = 0
    functions: int = 0  # requests whose first call's function is right
    sequences: int = 0  # requests whose calls' functions are all right, in order
    whole: int = 0  # requests whose calls are right in everything
    arguments: int = 0  # of expected calls, required or not
    right: int = 0
    judged: int = 0  # of them, those of calls whose function is right
    judged_right: int = 0
    nulls: Counter[str] = field(default_factory=Counter)  # "hit", "missed", "false"; of calls whose function is right
    all_nulls: Counter[str] = field(default_factory=Counter)  # of every parameter of every function on offer

    def as_json(self) -> Object:
        """Rates; None where nothing was counted."""
        return {
            "requests": self.requests,
            "function": _rate(self.functions, self.requests),
            "all functions": _rate(self.sequences, self.requests),
            "argument": _rate(self.judged_right, self.judged),
            "argument, of all expected": _rate(self.right, self.arguments),
            "null precision": _hits(self.nulls, "false"),
            "null recall": _hits(self.nulls, "missed"),
            "null precision, all functions": _hits(self.all_nulls, "false"),
            "null recall, all functions": _hits(self.all_nulls, "missed"),
            "whole": _rate(self.whole, self.requests),
        }


def _rate(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None


def _hits(nulls: Counter[str], other: str) -> float | None:
    return _rate(nulls["hit"], nulls["hit"] + nulls[other])


def judge(request: Request, guess: Sequence[CallHint], expected: Sequence[Expected], score: Score) -> None:
    """Add one request. ``guess``: the calls of the last hint."""
    if not expected:
        return
    names = [call.function for call in guess]
    score.requests += 1
    score.functions += names[:1] == [expected[0].name]
    sequence = names == [call.name for call in expected]
    score.sequences += sequence
    every = []
    for index, call in enumerate(expected):
        found = guess[index] if index < len(guess) and names[index] == call.name else None
        for right, null in _arguments(request, found, call):
            every.append(right)
            score.judged += found is not None
            score.judged_right += right and found is not None
            if null and found is not None:
                score.nulls[null] += 1
    score.arguments += len(every)
    score.right += sum(every)
    score.whole += sequence and all(every)
    score.all_nulls.update(_nulls(request, guess, expected))


def _nulls(request: Request, guess: Sequence[CallHint], expected: Sequence[Expected]) -> Iterator[str]:
    """For every parameter of every function on offer: whether null was right, missed or false.

    What is not called passes nothing, so the parameters of a function that is not called are null, as in training rows.
    """
    for tool in request.tools:
        wanted = [call for call in expected if call.name == tool.name]
        made = [call.arguments for call in guess if call.function == tool.name]
        for number in range(max(len(wanted), len(made), 1)):
            call = wanted[number] if number < len(wanted) else Expected(name=tool.name, arguments={}, optional=[])
            for slot in tool.slots:
                null = number >= len(made) or slot.name not in made[number]
                if slot.name not in call.arguments:
                    yield "hit" if null else "missed"
                elif null and slot.name not in call.optional:
                    yield "false"


def _arguments(request: Request, found: CallHint | None, call: Expected) -> Iterator[tuple[bool, str]]:
    """For each parameter: whether the guess is right, and what it says of the null: hit, missed, false or nothing."""
    tool, made = request.tool(call.name), found or CallHint(call.name)
    for slot in tool.slots if tool is not None else ():
        values, optional = call.arguments.get(slot.name), slot.name in call.optional
        left_out = slot.name in made.omitted
        if values is None:
            yield left_out, "hit" if left_out else "missed"
        elif left_out:
            yield optional, "" if optional else "false"
        else:
            yield slot.name in made.arguments and (not values or same(made.arguments[slot.name], values)), ""


def same(value: Json, accepted: Sequence[Json]) -> bool:
    """Whether a value equals an accepted one as JSON: 1 and 1.0 do, 1 and true do not."""
    return any(_equal(value, other) for other in accepted)


def _equal(a: Json, b: Json) -> bool:
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_equal, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_equal(a[key], b[key]) for key in a)
    return bool(a == b)
