"""Processor cores that engines pin: each belongs to one engine on this machine, whichever process that is in."""

from __future__ import annotations

import errno
import os
import re
import socket
from pathlib import Path

_TOPOLOGY = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"


def core_of(cpu: int) -> int:
    """The first hardware thread of the core of which ``cpu`` is one."""
    try:
        first = re.match("[0-9]+", Path(_TOPOLOGY.format(cpu)).read_text())
    except OSError:
        first = None
    return int(first[0]) if first else cpu


def own_cores() -> list[int]:
    """A hardware thread of each core that this process may use: two threads of one core are not two cores."""
    threads: dict[int, int] = {}
    for cpu in sorted(os.sched_getaffinity(0)):
        threads.setdefault(core_of(cpu), cpu)
    return list(threads.values())


class HeldCores:
    """The cores of one engine. They are free again when it closes, and when its process ends in any way."""

    def __init__(self) -> None:
        self._holders: dict[int, socket.socket] = {}

    def take(self, cpu: int) -> bool:
        """Whether the core of a hardware thread is this engine's now."""
        core = core_of(cpu)
        if core not in self._holders:
            # A name that the kernel keeps for all processes of all users, without a file that could be left behind.
            holder = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            try:
                holder.bind(f"\0oospec-core-{core}")
            except OSError as error:
                if error.errno == errno.EADDRINUSE:
                    holder.close()
                    return False
            self._holders[core] = holder
        return True

    def close(self) -> None:
        for holder in self._holders.values():
            holder.close()
        self._holders.clear()
