"""What an engine is made of."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from oospec_async.decoding.memory import Memory
from oospec_async.decoding.state import DecodeState, Setting
from oospec_async.decoding.text import Codec
from oospec_async.decoding.tree import VerifyCurve
from oospec_async.dialects.dialect import Dialect
from oospec_async.recording.provenance import Setup
from oospec_async.request import Request
from oospec_async.runtime.executor import Executor
from oospec_async.runtime.ports import DraftPort, SidecarPort, TargetPort

Clock = Callable[[], int]  # monotonic nanoseconds


class PromptPort(Protocol):
    """Writes requests as prompts, and knows how the target may write calls."""

    @property
    def dialects(self) -> Sequence[Dialect]: ...

    def ids(self, request: Request) -> list[int]: ...


@dataclass(frozen=True)
class Parts:
    """What an engine is made of. ``curve``: seconds of a forward of the target, by tokens in the tree.

    What ``EngineConfig`` has too means the same here.
    """

    target: TargetPort
    executor: Executor
    prompts: PromptPort
    codec: Codec
    curve: VerifyCurve
    sidecar: SidecarPort | None = None
    draft_model: DraftPort | None = None  # on the target's executor
    setup: Setup | None = None  # what it was made with, where real models were loaded
    method: str = "oospec"
    reuse_prefix: bool = False
    record: bool = False
    finish_waves: bool = False
    clock: Clock = time.monotonic_ns
    decoding: Callable[[Setting], DecodeState] = DecodeState  # what drafts and commits
    memory: Callable[[], Memory] = Memory  # what one method has learnt, empty
