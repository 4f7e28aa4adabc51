"""What a process and its descendants hold: memory, open files, threads. Read from ``/proc``."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Footprint:
    """``rss``: resident bytes of all processes, summed (a page that two of them map counts twice)."""

    rss: int
    own_rss: int  # of the process that asks
    files: int
    threads: int
    processes: int  # descendants

    @property
    def megabytes(self) -> float:
        return self.rss / 1e6


def footprint() -> Footprint:
    """Of this process and its living descendants, in sessions of their own or not."""
    own, below = os.getpid(), descendants(os.getpid())
    everyone = [own, *below]
    return Footprint(
        rss=sum(_status(pid, "VmRSS") for pid in everyone) * 1024,
        own_rss=_status(own, "VmRSS") * 1024,
        files=sum(_files(pid) for pid in everyone),
        threads=sum(_status(pid, "Threads") for pid in everyone),
        processes=len(below),
    )


def descendants(root: int) -> list[int]:
    """Living processes below one; zombies are none."""
    parents: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = path.read_text().rpartition(")")[2].split()[:2]
        except OSError:  # it has just ended
            continue
        if state not in "ZX":
            parents[int(path.parent.name)] = int(parent)
    found, level = list[int](), {root}
    while level:
        level = {pid for pid, parent in parents.items() if parent in level}
        found += level
    return sorted(found)


def _status(pid: int, field: str) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith(f"{field}:")), 0)


def _files(pid: int) -> int:
    try:
        return len(os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return 0
