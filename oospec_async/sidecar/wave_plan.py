"""What a wave knows and what it asks next: which calls there are, and the arguments of each."""

from __future__ import annotations

from collections.abc import Sequence

from oospec_async.hints import CallHint
from oospec_async.request import Tool
from oospec_async.sidecar.answers import Answer
from oospec_async.sidecar.questions import NONE, Slot

_Key = tuple[str, int]  # a function, and which of its calls


class WavePlan:
    """The calls of one request as they become known.

    The first two calls are asked for at once, together with the slots of all functions if these are at most
    ``early_slots``; the third when the second is known to exist, and so on. Slots of a function's second call are asked
    for when it has been named twice.
    """

    def __init__(self, tools: Sequence[Tool], most_calls: int, early_slots: int) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._most_calls = most_calls
        self._early_slots = early_slots
        self._named: dict[int, str] = {}  # number of a call -> function, or NONE
        self._asked: int = 0  # calls whose function was asked for
        self._slots_asked: set[_Key] = set()
        self._answers: dict[_Key, dict[str, Answer]] = {}
        if len(self._tools) == 1:
            self._named[1], self._asked = next(iter(self._tools)), 1

    def options(self, number: int) -> list[str]:
        """What the ``number``-th call may be. There is always a first one: a hint of no call would be no hint."""
        return list(self._tools) if number == 1 else list({**self._tools, NONE: None})

    def calls_to_ask(self) -> range:
        """Numbers of calls to ask for now."""
        first = self._asked + 1
        last = max(2, len(self._order()) + 1) if self._count() is None else 0
        last = min(last, self._most_calls)
        self._asked = max(self._asked, last)
        return range(first, last + 1)

    def named(self, number: int, function: str) -> None:
        self._named[number] = function

    def answered(self, slot: Slot, answer: Answer) -> None:
        self._answers.setdefault((slot.function, slot.call), {})[slot.parameter.name] = answer

    def wants(self, function: str) -> bool:
        """Whether the function is called, or may yet be: which call there is to be was asked for and not answered."""
        return function in self._named.values() or any(n not in self._named for n in range(1, self._asked + 1))

    def slots_to_ask(self, most: int) -> list[Slot]:
        """Slots to ask for now, at most so many: of named calls, and at first of functions that may be called."""
        everything = sum(len(tool.slots) for tool in self._tools.values())
        keys = [*self._order()]
        if not self._slots_asked and everything <= self._early_slots:
            keys += [(name, 1) for name in self._tools]
        slots: list[Slot] = []
        for function, call in dict.fromkeys(keys):
            if (function, call) not in self._slots_asked:
                self._slots_asked.add((function, call))
                slots += [Slot(function, parameter, call) for parameter in self._tools[function].slots]
        return slots[:most]

    def calls(self) -> tuple[CallHint, ...]:
        """The calls known so far, in order, each with the arguments that are ready."""
        return tuple(self._call(key) for key in self._order())

    def _order(self) -> list[_Key]:
        """The calls named without a gap."""
        order: list[_Key] = []
        while (name := self._named.get(len(order) + 1, NONE)) in self._tools:
            order.append((name, 1 + sum(function == name for function, _ in order)))
        return order

    def _count(self) -> int | None:
        """How many calls there are, if that is known."""
        named = len(self._order())
        return named if named + 1 in self._named or named >= self._most_calls else None

    def _call(self, key: _Key) -> CallHint:
        answers = self._answers.get(key, {})
        values = {name: answer.value for name, answer in answers.items() if not answer.omitted}
        omitted = frozenset(name for name, answer in answers.items() if answer.omitted)
        return CallHint(key[0], values, omitted)
