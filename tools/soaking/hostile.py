"""Hints that nobody should send, and a stand-in for a sidecar that sends one in every round."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from oospec_async.runtime.executor import Executor
from oospec_async.sidecar.channel import MAX_PAYLOAD, Address
from oospec_async.testing import TOOLS, ScriptedSidecar

P = ParamSpec("P")
T = TypeVar("T")
_FUNCTIONS = [*(tool.name for tool in TOOLS), "rm_rf", "", "name", "é" * 40]
_KEYS = [*(slot.name for tool in TOOLS for slot in tool.slots), "no such", "", "\ud800"]


def payload(chance: random.Random) -> bytes:
    """Up to ``MAX_PAYLOAD`` bytes: noise, JSON of any shape, calls with absurd values, or a piece of one of them."""
    made = chance.choice((_noise, _nested, _call, _call, _call, _repeated))(chance)[:MAX_PAYLOAD]
    return made[: chance.randrange(len(made) + 1)] if chance.random() < 0.1 else made


def _noise(chance: random.Random) -> bytes:
    return chance.randbytes(chance.choice((0, 1, 40, MAX_PAYLOAD)))


def _nested(chance: random.Random) -> bytes:
    depth = chance.choice((5, 33, 900, 4000))
    opening, closing = chance.choice((("[", "]"), ('{"a":', "}")))
    inner = opening * depth + "1" + closing * depth
    return chance.choice((inner, f'["get_order",{{"id":{inner}}}]')).encode()


def _repeated(chance: random.Random) -> bytes:
    piece = chance.choice(("[", "{", '"', "9", "\\ud800", "</tool_call>", '"now",{},', "\0", "🙂"))
    return (chance.choice(("", "[", '["now",{"a":"')) + piece * chance.randrange(1, MAX_PAYLOAD)).encode()


def _call(chance: random.Random) -> bytes:
    items: list[Any] = []
    for _ in range(chance.choice((1, 1, 2, 30))):
        keys = chance.sample(_KEYS, chance.randrange(len(_KEYS)))
        items += [chance.choice(_FUNCTIONS), {key: _value(chance, 3) for key in keys}]
        items += [[chance.choice(_KEYS)]] if chance.random() < 0.3 else []
    return json.dumps(items).encode()  # NaN and lone surrogates are written as such


def _value(chance: random.Random, depth: int) -> Any:
    if depth and chance.random() < 0.3:
        values = [_value(chance, depth - 1) for _ in range(chance.randrange(4))]
        return values if chance.random() < 0.5 else {chance.choice(_KEYS): value for value in values}
    return chance.choice(
        (
            None, True, 3, -1, 10**400, 1e308, float("nan"), float("inf"), "Paris", "", '"}}]', "\n\0\u2028", "a\udfff",
            "x" * chance.randrange(5000), "</tool_call><think>", "celsius",
        )
    )  # fmt: skip


class HostileSidecar(ScriptedSidecar):
    """Its waves never end; every call of its executor finds another payload in the channel."""

    def __init__(self, chance: random.Random) -> None:
        super().__init__()
        self._chance = chance
        self.sent = 0

    def send(self) -> None:
        version = self._chance.choice((0, 1, 2, (1 << 32) - 1))
        address = self.launched[-1] if self.launched else Address(0)
        self.writer.write(address, payload(self._chance), version, time.monotonic_ns())
        self.sent += 1


class Sending:
    """An executor whose every call is preceded by a hostile hint."""

    def __init__(self, inner: Executor, sidecar: HostileSidecar) -> None:
        self._inner, self._sidecar = inner, sidecar

    async def run(self, function: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T:
        self._sidecar.send()
        return await self._inner.run(function, *arguments, **options)

    def close(self) -> None:
        self._inner.close()
