"""A target that has no model: its tokens are their own places in the output, its forwards take recorded times."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import ParamSpec, TypeVar, cast

from oospec_async.decoding.forward import TargetForward
from oospec_async.dialects.dialect import Dialect
from oospec_async.request import Request
from sim.live.clock import VirtualClock
from sim.live.devices import VirtualDevice
from sim.replay.timetable import Rank, Timetable
from sim.scenario.placement import Law

P = ParamSpec("P")
T = TypeVar("T")
_ENDLESS = 1 << 62


class VirtualPrompts:
    """A prompt is as long as it was, and every token of it is the number of its timetable."""

    dialects: Sequence[Dialect] = ()

    def __init__(self, timetables: Sequence[Timetable]) -> None:
        self._prompts = {timetable.request: (number, timetable.prompt) for number, timetable in enumerate(timetables)}

    def ids(self, request: Request) -> list[int]:
        number, length = self._prompts[request.id]
        return [number] * length


class VirtualCodec:
    """Virtual tokens stand for no text."""

    def encode(self, text: str) -> list[int]:
        return []

    def decode(self, ids: Sequence[int]) -> str:
        return ""


class VirtualTarget:
    """Says 1, 2, 3, …: after a token that stands where it says, the next one. A forward's times are its length only."""

    context = vocabulary = _ENDLESS
    end_tokens: frozenset[int] = frozenset()

    def __init__(self, timetables: Sequence[Timetable], law: Law, clock: VirtualClock) -> None:
        self._timetables, self._law, self._clock = timetables, law, clock
        self._verify_ns: Mapping[tuple[int, int], int] = {}  # by output tokens committed and size of the tree

    def prefill(self, prompt: Sequence[int], *, reuse: bool = False) -> TargetForward:
        timetable = self._timetables[prompt[0]]
        self._clock.spend(timetable.before_ns, Rank.TARGET_ASKS)
        self._verify_ns = {
            (position, size): ns
            for rounds in timetable.rounds.values()
            for position, (size, ns) in enumerate(zip(rounds.tokens, rounds.verify_ns, strict=True), start=1)
        }
        return _step([1], self._law(timetable.prefill_ns))

    def verify(self, path: Sequence[int], tokens: Sequence[int], parents: Sequence[int]) -> TargetForward:
        committed = tokens[0]
        return _step([token + 1 for token in tokens], self._law(self._verify_ns[committed, len(tokens)]))


def _step(predicted: Sequence[int], ns: int) -> TargetForward:
    return TargetForward(predicted, [()] * len(predicted), [0.0] * len(predicted), 0, ns)


class VirtualExecutor:
    """Gives every forward of a virtual target its place on the device, and in time."""

    def __init__(self, device: VirtualDevice) -> None:
        self._device = device

    async def run(self, function: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T:
        step = function(*arguments, **options)
        if not isinstance(step, TargetForward):  # a prompt: its time is that of the host before the prefill
            return step
        span: asyncio.Future[tuple[int, int]] = asyncio.get_running_loop().create_future()

        def ended(begin: int, end: int) -> None:
            if not span.done():  # whoever waited may have been cancelled
                span.set_result((begin, end))

        self._device.ask("target", step.end_ns - step.start_ns, ended)
        begin, end = await span
        return cast(T, replace(step, start_ns=begin, end_ns=end))

    def close(self) -> None:
        return
