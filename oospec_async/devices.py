"""Devices by name: ``cuda:N``, ``cpu`` (all cores), ``cpu:N`` (one pinned core, one torch thread)."""

from __future__ import annotations

import contextlib
import os
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from oospec_async.cores import HeldCores, core_of, own_cores
from oospec_async.errors import OospecError


@dataclass(frozen=True)
class Device:
    name: str
    core: int | None = None  # the pinned core of ``cpu:N``

    @property
    def torch_name(self) -> str:
        return "cpu" if self.name.startswith("cpu") else self.name


def parse_device(name: str) -> Device:
    """Raises OospecError for a name that is no device, and for a core that this process may not use."""
    match = re.fullmatch(r"cpu|cpu:([0-9]{1,6})|cuda|cuda:[0-9]{1,6}", name)
    if match is None:
        raise OospecError(f"device {name!r}: unknown; use cuda:N, cpu, or cpu:N (one pinned core)")
    if match[1] is None:
        return Device("cuda:0" if name == "cuda" else name)
    core, cores = int(match[1]), sorted(os.sched_getaffinity(0))
    if core not in cores:
        raise OospecError(f"device {name!r}: no such core; this process may use {', '.join(f'cpu:{c}' for c in cores)}")
    return Device(name, core)


def parse_devices(names: str) -> tuple[Device, Device]:
    """``target,sidecar``; one name alone serves both. Raises OospecError."""
    parts = [part.strip() for part in names.split(",")]
    if len(parts) > 2:
        raise OospecError(f"devices {names!r}: name one or two devices, target first")
    return parse_device(parts[0]), parse_device(parts[-1])


def default_devices(held: HeldCores | None = None, count: int = 2) -> str:
    """Two GPUs if there are two, one if there is one; else pinned cores, free ones first; else the CPU.

    ``held`` takes those of the ``count`` cores that no engine has. Imports torch.
    """
    import torch

    if torch.cuda.is_available():
        return "cuda:0,cuda:1" if torch.cuda.device_count() > 1 else "cuda:0,cuda:0"
    if len(cores := own_cores()) < 2:
        return "cpu,cpu"
    with contextlib.closing(HeldCores()) as mine:
        chosen: list[int] = []
        for core in cores:
            if len(chosen) < count and (held or mine).take(core):
                chosen.append(core)
    taken = [core for core in cores if core not in chosen]
    return ",".join(f"cpu:{core}" for core in [*chosen, *taken][:count])


@contextlib.contextmanager
def held_devices(
    names: str | None, report: Callable[[str], object], *, sidecar: bool
) -> Iterator[tuple[Device, Device]]:
    """An engine's devices, as ``names`` or ``default_devices`` says; meanwhile other engines take other cores.

    ``report`` is told, in a line, which core another engine has. Raises OospecError.
    """
    with contextlib.closing(HeldCores()) as held:
        target, other = parse_devices(names or default_devices(held, 1 + sidecar))
        for device in dict.fromkeys((target, other) if sidecar else (target,)):
            if device.core is not None and not held.take(device.core):
                report(f"device {device.name}: another engine has this core, so both are slow; name others (--devices)")
        cores = [device.core for device in (target, other) if device.core is not None]
        if sidecar and len(set(cores)) == 2 and core_of(cores[0]) == core_of(cores[1]):
            report(f"devices {target.name},{other.name}: hardware threads of one core; each slows the other")
        yield target, other


def claim(device: Device) -> None:
    """Bind the calling thread to its device. To be called on the thread, before its first tensor."""
    import torch

    if device.core is not None:
        os.sched_setaffinity(0, {device.core})
        torch.set_num_threads(1)


_at_work: set[object] = set()  # claims of single cores, of all engines of this process


@contextlib.contextmanager
def torch_threads_kept(device: Device) -> Iterator[None]:
    """Around the life of a thread that claims a device: afterwards torch has as many threads as it had before.

    torch holds a claim's one thread for the default of all threads that are yet to start, the application's too.
    """
    if device.core is None:
        yield
        return
    import torch

    before, claimed = torch.get_num_threads(), object()

    def restore() -> None:
        if torch.get_num_threads() == 1:  # else the application has set it anew
            torch.set_num_threads(before)

    _at_work.add(claimed)
    try:
        yield
    finally:
        _at_work.discard(claimed)
        if not _at_work:
            fresh = threading.Thread(target=restore)  # which sees the default, and changes no other thread's number
            fresh.start()
            fresh.join()
