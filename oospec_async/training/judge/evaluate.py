"""How good a sidecar's guesses are: against accepted answers, and against the calls that a target really made."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from oospec_async.request import Json, Request
from oospec_async.training.data.readers.base import Object


@dataclass(frozen=True)
class Expected:
    """One call that is right. ``values``: accepted ones by argument, any value where there are none.

    ``optional``: arguments that may be left out though they have values; what is not named must be left out.
    """

    name: str
    values: Mapping[str, Sequence[Json]]
    optional: frozenset[str] = frozenset()


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
            "null precision": _precision(self.nulls),
            "null recall": _recall(self.nulls),
            "null precision, all functions": _precision(self.all_nulls),
            "null recall, all functions": _recall(self.all_nulls),
            "whole": _rate(self.whole, self.requests),
        }


def _rate(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None


def _precision(nulls: Counter[str]) -> float | None:
    return _rate(nulls["hit"], nulls["hit"] + nulls["false"])


def _recall(nulls: Counter[str]) -> float | None:
    return _rate(nulls["hit"], nulls["hit"] + nulls["missed"])


def accepted_calls(row: Object) -> list[Expected]:
    """What an evaluation row accepts."""
    return [Expected(c["name"], c["arguments"], frozenset(c["optional"])) for c in row["accepted"]]


def made_calls(calls: Iterable[Object]) -> list[Expected]:
    """Calls of a target or a teacher: each value is the only one that is right."""
    return [Expected(call["name"], {name: [value] for name, value in call["arguments"].items()}) for call in calls]


def judge(request: Request, guess: Sequence[Object], expected: Sequence[Expected], score: Score) -> None:
    """Add one request. ``guess``: calls with ``name``, ``arguments``, ``omitted``, as the last hint had them."""
    if not expected:
        return
    names = [call["name"] for call in guess]
    score.requests += 1
    score.functions += names[:1] == [expected[0].name]
    score.sequences += names == [call.name for call in expected]
    wrong = len(names) != len(expected)
    for index, call in enumerate(expected):
        found = guess[index] if index < len(guess) and names[index] == call.name else None
        for verdict, null in _arguments(request, found, call):
            score.arguments += 1
            score.right += verdict
            score.judged += found is not None
            score.judged_right += verdict and found is not None
            if null and found is not None:
                score.nulls[null] += 1
            wrong |= not verdict
        wrong |= found is None
    score.whole += not wrong
    score.all_nulls.update(_nulls(request, guess, expected))


def _nulls(request: Request, guess: Sequence[Object], expected: Sequence[Expected]) -> Iterator[str]:
    """For every parameter of every function on offer: whether null was right, missed or false.

    What is not called passes nothing, so the parameters of a function that is not called are null, as in training rows.
    """
    for tool in request.tools:
        wanted = [call for call in expected if call.name == tool.name]
        made = [call for call in guess if call["name"] == tool.name]
        for number in range(max(len(wanted), len(made), 1)):
            for slot in tool.slots:
                call = wanted[number] if number < len(wanted) else Expected(tool.name, {})
                null = number >= len(made) or slot.name not in made[number]["arguments"]
                if slot.name not in call.values:
                    yield "hit" if null else "missed"
                elif null and slot.name not in call.optional:
                    yield "false"


def _arguments(request: Request, found: Object | None, call: Expected) -> Iterator[tuple[bool, str]]:
    """For each parameter: whether the guess is right, and what it says of the null: hit, missed, false or nothing."""
    tool = request.tool(call.name)
    for slot in tool.slots if tool is not None else ():
        values, optional = call.values.get(slot.name), slot.name in call.optional
        left_out = found is not None and slot.name in found["omitted"]
        given = found is not None and slot.name in found["arguments"]
        if values is None:
            yield left_out, "hit" if left_out else "missed"
        elif left_out:
            yield optional, "" if optional else "false"
        else:
            right = given and found is not None and (not values or same(found["arguments"][slot.name], values))
            yield right, ""


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


Judged = tuple[str, Request, Sequence[Object], Sequence[Expected]]  # source, request, guess, expected calls


def by_source(rows: Iterable[Judged]) -> dict[str, Score]:
    """Scores by source, in order of first appearance."""
    scores: defaultdict[str, Score] = defaultdict(Score)
    for source, request, guess, expected in rows:
        judge(request, guess, expected, scores[source])
    return dict(scores)
