"""What a synthesised message is to ask for: a function, widened, and the arguments of one to three calls of it."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass

from oospec_async.request import Json
from oospec_async.training.data.decontaminate import Evaluation
from oospec_async.training.data.writing.seal_pool import SealPool, SealTool, kept
from oospec_async.training.data.writing.widen import EXTRAS, widened
from oospec_async.training.records import Object

_CALLS = {1: 85, 2: 11, 3: 4}  # how many calls of the function, and their shares
_LEFT_OUT = 0.6  # share of optional arguments that a message does not mention
_VARIED = 0.6  # share of arguments that differ between the calls of one message
_TRUE = 0.6
_LENGTHS = (2, 2, 3, 4)  # of lists
_INTEGERS = (
    1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 18, 20, 24, 25, 30, 36, 45, 50, 60, 75, 100, 120, 150, 200, 250, 365, 500,
    1000, 2500, 10000,
)  # fmt: skip
_TIMES = {1: "", 2: ", twice", 3: ", three times"}


@dataclass(frozen=True)
class Task:
    """What a message is written about; ``values`` holds one object of arguments for each call."""

    function: Object
    field: str
    values: Sequence[Object]

    @property
    def text(self) -> str:
        """The task as the writer reads it: what to do, then a line for each argument."""
        head = self.function["description"].rstrip(".") + _TIMES[len(self.values)]
        blocks = ("\n".join(f"{n} = {_plain(v)}" for n, v in arguments.items()) for arguments in self.values)
        return f"{head}\n" + "\nand\n".join(blocks)


@dataclass(frozen=True)
class Message:
    text: str
    finished: bool  # False: it was cut at the limit


def _plain(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)


class Drawing:
    """Draws tasks from the functions for which every required argument has values and that no evaluation set knows."""

    def __init__(self, pool: SealPool, known: Evaluation) -> None:
        self._pool = pool
        self._tools = kept(pool.usable(), known)

    def __len__(self) -> int:
        return len(self._tools)

    def draw(self, rng: random.Random) -> Task:
        while True:
            tool = rng.choice(self._tools)
            function = widened(tool, self._pool, rng)
            count = rng.choices(list(_CALLS), list(_CALLS.values()))[0]
            values = _varied([self._arguments(tool, function, rng) for _ in range(count)], rng)
            if values and all(values) and len({json.dumps(each) for each in values}) == count:
                return Task(function, tool.field, values)

    def _arguments(self, tool: SealTool, function: Object, rng: random.Random) -> Object:
        made: Object = {}
        required = function["parameters"]["required"]
        for name, schema in function["parameters"]["properties"].items():
            if name not in required and rng.random() < _LEFT_OUT:
                continue
            if name in EXTRAS and name not in tool.function["parameters"]["properties"]:
                made[name] = rng.choice(EXTRAS[name].values)
            elif schema["type"] == "array":
                values = [self._value(name, schema["items"], rng) for _ in range(rng.choice(_LENGTHS))]
                made[name] = list(dict.fromkeys(values))
            elif (value := self._value(name, schema, rng)) is not None:
                made[name] = value
        return made

    def _value(self, name: str, schema: Object, rng: random.Random) -> Json:
        """A value; None for a text for which the pool has none, which is an optional one."""
        kind = schema["type"]
        if kind == "integer":
            return rng.choice(_INTEGERS)
        if kind == "number":
            small, middle, share = rng.uniform(0, 10), rng.uniform(0, 100), rng.uniform(0, 1)
            whole, large = rng.randint(1, 500), rng.uniform(10, 5000)
            return rng.choice([round(small, 1), round(middle, 1), round(share, 2), whole, round(large, 2)])
        if kind == "boolean":
            return rng.random() < _TRUE
        values = self._pool.values.get(name)
        return None if values is None else str(rng.choice(values))


def _varied(values: list[Object], rng: random.Random) -> list[Object]:
    """Calls that share what is not varied, as a message says it once."""
    base = values[0]
    if len(values) == 1 or not base:
        return values
    varied = [name for name in base if rng.random() < _VARIED] or [rng.choice(list(base))]
    others = [{n: other.get(n, base[n]) if n in varied else base[n] for n in base} for other in values[1:]]
    return [base, *others]


_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def mentions(text: str, values: Sequence[Object]) -> bool:
    """Whether a message says every value: texts without regard to case, numbers as digits or words, lists item by item.

    Booleans are said in too many ways to be looked for.
    """
    lowered = text.lower().replace(",", "")
    return all(_says(lowered, value) for arguments in values for value in arguments.values())


def _says(text: str, value: Json) -> bool:
    if isinstance(value, bool):
        return True
    if isinstance(value, list):
        return all(_says(text, item) for item in value)
    written = str(value).lower().replace(",", "")
    if not isinstance(value, int | float):
        return written in text
    if re.search(rf"(?<![\d.]){re.escape(written)}(?!\d|\.\d)", text):
        return True
    return isinstance(value, int) and 0 <= value <= 10 and re.search(rf"\b{_WORDS[value]}\b", text) is not None
