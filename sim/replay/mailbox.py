"""The mailbox at the target's end of the link: latest wins, and nobody waits."""

from __future__ import annotations


class Mailbox:
    """Of one request. Messages keep their order on the way: a small one never overtakes a large one."""

    def __init__(self) -> None:
        self._arrivals: list[tuple[int, int]] = []  # when readable, version; both ascend

    def publish(self, now: int, delay: int, version: int) -> int:
        """Send a version. Returns when it can be read, in ns."""
        readable = now + delay
        if self._arrivals:
            readable = max(readable, self._arrivals[-1][0])
        self._arrivals.append((readable, version))
        return readable

    def poll(self, now: int) -> int:
        """The newest version that can be read, 0 if there is none. A version published at ``now`` counts."""
        return next((version for readable, version in reversed(self._arrivals) if readable <= now), 0)
