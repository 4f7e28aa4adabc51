"""What a check is given and what it gives."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from oospec_async.console.table import Table
from oospec_async.devices import Device
from oospec_async.runtime.executor import ThreadExecutor


@dataclass(frozen=True)
class Shape:
    """Sizes of a dense decoder of the Qwen3 family."""

    name: str
    layers: int
    hidden: int
    intermediate: int
    heads: int
    kv_heads: int
    head_dim: int
    vocabulary: int
    tied: bool


@dataclass(frozen=True)
class Preset:
    """How large and how often."""

    shapes: tuple[Shape, ...]  # for verify times; the first one serves the host times too
    contexts: tuple[int, ...]  # rows of cache before a tree
    repeats: int  # of every timing
    hidden: int  # of the models whose ids are compared
    layers: int
    vocabulary: int
    prompts: tuple[int, ...]  # their lengths
    tokens: int  # output tokens of every prompt
    rounds: int  # observed for the host times
    restarts: bool  # whether a killed sidecar is waited for


TINY = Preset(
    shapes=(Shape("tiny", 2, 64, 128, 4, 2, 16, 512, True),),
    contexts=(512,),
    repeats=5,
    hidden=64,
    layers=2,
    vocabulary=512,
    prompts=(1, 24),
    tokens=24,
    rounds=150,
    restarts=False,
)
FULL = Preset(
    shapes=(
        Shape("Qwen3-0.6B", 28, 1024, 3072, 16, 8, 128, 151936, True),
        Shape("Qwen3-4B", 36, 2560, 9728, 32, 8, 128, 151936, True),
        Shape("Qwen3-14B", 40, 5120, 17408, 40, 8, 128, 151936, False),
    ),
    contexts=(512, 2048),
    repeats=15,
    hidden=256,
    layers=4,
    vocabulary=4096,
    prompts=(1, 9, 40, 120, 300),
    tokens=64,
    rounds=150,
    restarts=True,
)
PRESETS = {"tiny": TINY, "full": FULL}


@dataclass(frozen=True)
class Bench:
    """``say`` is told what is being done, and the share of the check that is done already."""

    devices: tuple[Device, Device]  # target, sidecar
    executor: ThreadExecutor  # of the target's device
    preset: Preset
    say: Callable[[str, float], None]


@dataclass(frozen=True)
class Outcome:
    """``holds``: None where a check only measures. ``figures`` is JSON."""

    holds: bool | None
    figures: dict[str, Any]
    tables: list[Table] = field(default_factory=list)
    reason: str = ""  # why it does not hold

    @property
    def result(self) -> str:
        return "measured" if self.holds is None else "holds" if self.holds else "fails"


Check = Callable[[Bench], Coroutine[Any, Any, Outcome]]


def one_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
