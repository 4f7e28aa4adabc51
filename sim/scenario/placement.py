"""Which model runs on which device, and how a device is shared. A placement is one class in ``PLACEMENTS``.

Written as ``split`` or ``fraction:share=0.25``: a name, then its parameters. Nothing in here has a clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, Protocol

from sim.scenario.parameters import parse, within

Sharing = Literal["alone", "serial", "fair"]
Slowdown = tuple[float, float]  # of target and sidecar while both are busy


@dataclass(frozen=True)
class Law:
    """How long a forward takes in a placement, from how long it takes alone on its own device."""

    factor: float = 1.0
    extra_ns: int = 0

    def __call__(self, ns: int) -> int:
        return max(1, round(ns * self.factor) + self.extra_ns)

    def faster(self, speed: float) -> Law:
        return Law(self.factor / speed, self.extra_ns)


@dataclass(frozen=True)
class Layout:
    """What a placement makes of the devices of one target and its sidecar.

    ``target_alone`` holds for methods without a sidecar, which get the target's devices whole.
    """

    target: Law = Law()
    sidecar: Law = Law()
    target_alone: Law = Law()
    sharing: Sharing = "alone"  # alone: nobody waits for the other; otherwise both are on one device
    target_devices: int = 1
    sidecar_devices: int = 1  # beside the target's
    slowdown: Slowdown = (1.0, 1.0)  # where sharing is fair


class Placement(Protocol):
    """Frozen dataclass; its fields are the parameters, with defaults."""

    name: ClassVar[str]
    about: ClassVar[str]

    def layout(self, measured: Slowdown | None = None) -> Layout:
        """``measured``: how much two models on one device slow each other, from a trace of both (``interference``)."""
        ...


@dataclass(frozen=True)
class Split:
    name: ClassVar[str] = "split"
    about: ClassVar[str] = "target and sidecar each have a device; neither slows the other"

    def layout(self, measured: Slowdown | None = None) -> Layout:
        return Layout()


@dataclass(frozen=True)
class Shared:
    """Both models' forwards queue for one device, in the order in which they are asked for."""

    name: ClassVar[str] = "shared"
    about: ClassVar[str] = "one device; forwards of the two models take turns, first come first served"

    def layout(self, measured: Slowdown | None = None) -> Layout:
        return Layout(sharing="serial", sidecar_devices=0)


@dataclass(frozen=True)
class SharedFair:
    """Both models' forwards run at once on one device; while they do, each takes so many times as long.

    What is not given is taken from a trace of both models on one device, else it is 2: half of the device to each.
    """

    name: ClassVar[str] = "shared-fair"
    about: ClassVar[str] = "one device; forwards of the two models run at once and slow each other"

    target_slowdown: Annotated[float, within(1, 1000)] | None = None
    sidecar_slowdown: Annotated[float, within(1, 1000)] | None = None

    def layout(self, measured: Slowdown | None = None) -> Layout:
        target, sidecar = measured or (2.0, 2.0)
        slowdown = (self.target_slowdown or target, self.sidecar_slowdown or sidecar)
        return Layout(sharing="fair", sidecar_devices=0, slowdown=slowdown)


@dataclass(frozen=True)
class Fraction:
    """A device cut in two for good, as MIG does: ``share`` of it is the sidecar's.

    Law: a forward takes 1 / share times as long as alone on the whole device, as if it were limited by bandwidth or
    compute at every moment. A model that waits for kernel launches loses less: pessimistic for small sidecars.
    Methods without a sidecar get the whole device.
    """

    name: ClassVar[str] = "fraction"
    about: ClassVar[str] = "one device cut in two; each model takes 1 / its share times as long"

    share: Annotated[float, within(0.001, 0.999)] = 0.25

    def layout(self, measured: Slowdown | None = None) -> Layout:
        return Layout(Law(1 / (1 - self.share)), Law(1 / self.share), sidecar_devices=0)


@dataclass(frozen=True)
class TensorParallel:
    """The target over ``ways`` devices, the sidecar on one more.

    Law: a forward of the target takes 1 / ways of its time, plus ``communication`` seconds. The default stands for two
    all-reduces in each of 40 layers at 10 µs.
    """

    name: ClassVar[str] = "tensor-parallel"
    about: ClassVar[str] = "the target over several devices, the sidecar on one more"

    ways: Annotated[int, within(1, 1000)] = 2
    communication: Annotated[float, within(0, 1000)] = 0.0008

    def layout(self, measured: Slowdown | None = None) -> Layout:
        extra = round(self.communication * 1e9) if self.ways > 1 else 0
        law = Law(1 / self.ways, extra)
        return Layout(target=law, target_alone=law, target_devices=self.ways)


PLACEMENTS: dict[str, type[Placement]] = {
    placement.name: placement for placement in (Split, Shared, SharedFair, Fraction, TensorParallel)
}


def parse_placement(text: str) -> Placement:
    """``NAME`` or ``NAME:KEY=VALUE,…``. Raises OospecError for an unknown name, key or value."""
    return parse(text, PLACEMENTS, "placement")
