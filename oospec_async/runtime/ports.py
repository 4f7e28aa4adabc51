"""What the engine needs of a target and of a sidecar: the seams where stubs and virtual ones stand in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from oospec_async.decoding.draft_chain import Chain
from oospec_async.decoding.forward import TargetForward
from oospec_async.events import WaveReport
from oospec_async.request import Request
from oospec_async.sidecar.channel import Address, HintReader


class TargetPort(Protocol):
    """One request at a time: ``prefill`` begins it, each ``verify`` keeps the accepted path and runs the next tree.

    With ``reuse`` a prefill may take over what the last request left of the same beginning; the outcome is the same.
    """

    @property
    def context(self) -> int: ...

    @property
    def vocabulary(self) -> int: ...

    @property
    def end_tokens(self) -> frozenset[int]: ...

    def prefill(self, prompt: Sequence[int], *, reuse: bool = False) -> TargetForward: ...

    def verify(self, path: Sequence[int], tokens: Sequence[int], parents: Sequence[int]) -> TargetForward: ...


class DraftPort(Protocol):
    """A draft model, on the target's executor: ``begin`` for a request, then a ``chain`` for each of its rounds."""

    def begin(self, *, reuse: bool = False) -> None:
        """``reuse`` is as for the target."""
        ...

    def chain(self, tokens: Sequence[int], limit: int) -> Chain:
        """How ``tokens`` (prompt and output) go on greedily, in at most ``limit`` tokens; maybe empty."""
        ...


class SidecarPort(Protocol):
    """Runs waves somewhere else and publishes into the channel that ``reader`` reads."""

    @property
    def reader(self) -> HintReader: ...

    async def wave(self, address: Address, request: Request, *, reuse: bool = False) -> WaveReport | None:
        """Run a wave until it ends; None if the sidecar failed. Cancelling the call cancels the wave; else no raise.

        ``reuse`` is as for the target.
        """
        ...

    async def close(self) -> None: ...
