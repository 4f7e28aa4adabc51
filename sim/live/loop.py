"""An asyncio event loop that never sleeps: where another would wait, virtual time jumps."""

from __future__ import annotations

import asyncio
import math
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

from sim.live.clock import VirtualClock

T = TypeVar("T")
_NS = 1_000_000_000


class _Jump(selectors.DefaultSelector):
    """Looks at its files without waiting: signals arrive through one."""

    def __init__(self, clock: VirtualClock) -> None:
        super().__init__()
        self._clock = clock

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            self._clock.jump()
        elif timeout > 0:
            self._clock.jump(self._clock() + math.ceil(timeout * _NS))
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    """Its timers, and the timeouts of what runs on it, are in virtual time too."""

    def __init__(self, clock: VirtualClock) -> None:
        self._virtual = clock
        super().__init__(_Jump(clock))

    def time(self) -> float:
        return self._virtual() / _NS


def run_virtually(main: Coroutine[Any, Any, T], clock: VirtualClock) -> T:
    """As ``asyncio.run``. Raises RuntimeError if ``main`` waits for something that never comes."""
    with asyncio.Runner(loop_factory=lambda: VirtualLoop(clock)) as runner:
        return runner.run(main)
