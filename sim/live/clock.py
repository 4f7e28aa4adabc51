"""Virtual time in whole nanoseconds, and what devices and messages do in it."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import count

from sim.replay.timetable import Rank


class VirtualClock:
    """Stands still unless the host spends time or has nothing to do. Calling it gives the time, as a ``Clock`` does.

    Events at the same nanosecond happen by rank, then in the order in which they were planned.
    """

    def __init__(self) -> None:
        self._now = 0
        self._events: list[tuple[int, Rank, int, Callable[[], None]]] = []
        self._serial = count()

    def __call__(self) -> int:
        return self._now

    def at(self, time_ns: int, rank: Rank, action: Callable[[], None]) -> None:
        """Plan an event, now or later."""
        assert time_ns >= self._now, "time runs backwards"
        heapq.heappush(self._events, (time_ns, rank, next(self._serial), action))

    def spend(self, ns: int, then: Rank) -> None:
        """The host works for ``ns``, then does what has the rank ``then``. All that comes before that happens."""
        end = self._now + ns
        while self._events and self._events[0][:2] < (end, then):
            self._happen()
        self._now = end

    def jump(self, limit_ns: int | None = None) -> None:
        """The host waits: the next event happens, or if there is none until ``limit_ns``, it is then.

        Raises RuntimeError if it would wait for ever.
        """
        if self._events and (limit_ns is None or self._events[0][0] <= limit_ns):
            self._happen()
        elif limit_ns is not None:
            self._now = max(self._now, limit_ns)
        else:
            raise RuntimeError("virtual time stands still: the host waits, and no device works")

    def run_out(self) -> None:
        """The host is through: whatever is still under way comes to its end."""
        while self._events:
            self._happen()

    def _happen(self) -> None:
        self._now, _, _, action = heapq.heappop(self._events)
        action()
