"""What a process and its descendants hold: memory, open files, threads."""

from __future__ import annotations

import os
from dataclasses import dataclass

import psutil


@dataclass(frozen=True)
class Footprint:
    """``rss``: resident bytes of all processes, summed (a page that two of them map counts twice)."""

    rss: int
    own_rss: int  # of the process that asks
    files: int
    threads: int
    processes: int  # descendants


def footprint() -> Footprint:
    """Of this process and its living descendants, in sessions of their own or not."""
    below = descendants(os.getpid())
    held = [_held(pid) for pid in (os.getpid(), *below)]
    rss, files, threads = map(sum, zip(*held, strict=True))
    return Footprint(rss, held[0][0], files, threads, len(below))


def descendants(root: int) -> list[int]:
    """Living processes below one; zombies are none."""
    return [child.pid for child in psutil.Process(root).children(recursive=True) if _lives(child)]


def _lives(process: psutil.Process) -> bool:
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def _held(pid: int) -> tuple[int, int, int]:
    """Resident bytes, open files, threads; nothing of one that has just ended."""
    try:
        process = psutil.Process(pid)
        return process.memory_info().rss, process.num_fds(), process.num_threads()
    except psutil.Error:
        return 0, 0, 0
