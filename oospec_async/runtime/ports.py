"""What the engine needs of a target and of a sidecar: the seams where stubs and virtual ones stand in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from oospec_async.decoding.step import Step
from oospec_async.request import Request
from oospec_async.runtime.channel import Address, HintReader
from oospec_async.runtime.recorder import Event


class TargetPort(Protocol):
    """One request at a time: ``prefill`` begins it, each ``verify`` keeps the accepted path and runs the next tree."""

    @property
    def context(self) -> int: ...

    @property
    def vocabulary(self) -> int: ...

    @property
    def end_tokens(self) -> frozenset[int]: ...

    def prefill(self, prompt: Sequence[int]) -> Step: ...

    def verify(self, path: Sequence[int], tokens: Sequence[int], parents: Sequence[int]) -> Step: ...


@dataclass(frozen=True)
class WaveReport:
    """How a wave went. Times are monotonic nanoseconds; ``events`` are those of the sidecar's process.

    ``payloads``: published hints by version, also those that no poll has found; for recording only.
    """

    start_ns: int
    end_ns: int
    cancelled: bool
    events: tuple[Event, ...] = ()
    error: str = ""
    payloads: tuple[tuple[int, bytes], ...] = ()


class SidecarPort(Protocol):
    """Runs waves somewhere else and publishes into the channel that ``reader`` reads."""

    @property
    def reader(self) -> HintReader: ...

    async def wave(self, address: Address, request: Request) -> WaveReport | None:
        """Run a wave until it ends; None if the sidecar failed. Cancelling the call cancels the wave; else no raise."""
        ...

    async def close(self) -> None: ...
