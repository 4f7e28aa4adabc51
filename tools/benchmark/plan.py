"""From the names of methods to what is served where and when: their suffixes, their workers, their turns."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from oospec_async.decoding.drafters.needs import HINTS
from oospec_async.devices import parse_devices
from oospec_async.errors import OospecError
from oospec_async.request import Request
from tools.benchmark.methods import find
from tools.benchmark.methods.base import Entry
from tools.benchmark.options import Options

T = TypeVar("T")


@dataclass(frozen=True)
class Plan:
    """A method as it was named, and its place. ``cores``: all that its worker may use; empty: as the device says."""

    name: str
    base: str  # without suffixes
    entry: Entry
    devices: str
    cores: tuple[int, ...] = ()
    reuse: bool = False
    cold: bool = False  # what earlier requests have left is dropped before each one

    @property
    def worker(self) -> str:
        """Methods with the same one share a process. What is reused is the last prompt, so no two may share that."""
        if self.reuse:
            return self.name
        return f"cpu {','.join(map(str, self.cores))}" if self.cores else "main"


def _both(plan: Plan) -> Plan:
    """The cores of both devices for the target, and no sidecar."""
    target, sidecar = parse_devices(plan.devices)
    if HINTS in plan.entry.needs:
        raise OospecError(f"method {plan.name!r}: /both leaves no device to a sidecar, and {plan.base} needs one")
    if target.core is None or sidecar.core is None or target.core == sidecar.core:
        raise OospecError(
            f"method {plan.name!r}: /both joins two pinned cores (--devices cpu:N,cpu:M), and the devices are "
            f"{plan.devices}; leave it out"
        )
    return replace(plan, devices="cpu", cores=(target.core, sidecar.core))


def _reuse(plan: Plan) -> Plan:
    """What a prompt has in common with the one before is not read again."""
    if not plan.entry.by_engine:
        raise OospecError(f"method {plan.name!r}: /reuse is the engine's, and {plan.base} is not; leave it out")
    return replace(plan, reuse=True)


def _cold(plan: Plan) -> Plan:
    """Every request is the first one: nothing is learned from the others."""
    return replace(plan, cold=True)


SUFFIXES: dict[str, Callable[[Plan], Plan]] = {"both": _both, "reuse": _reuse, "cold": _cold}

DEFAULT_METHODS = (
    "generate",
    "generate+lookup",
    "generate/both",
    "ar",
    "pld",
    "toolspec",
    "oospec",
    "toolspec/both",
    "oospec@perfect",
    "oospec@never",
    "generate+assistant",
)


def plan(names: Sequence[str], options: Options) -> list[Plan]:
    """Raises OospecError for a name that is none, twice there, or does not go with the options or the others."""
    plans = []
    for name in names:
        if names.count(name) > 1:
            raise OospecError(f"--methods: names {name!r} twice")
        plans.append(_planned(name, options))
    for each in plans:
        if each.entry.after and source(each, plans) is None:
            raise OospecError(
                f"method {each.name!r}: is made from a plain output; add {' or '.join(each.entry.after)} to --methods"
            )
    return plans


def default_plan(options: Options) -> list[Plan]:
    """``DEFAULT_METHODS``; those left out that these devices and options do not allow."""
    names = []
    for name in DEFAULT_METHODS:
        try:
            _planned(name, options)
        except OospecError:
            continue
        names.append(name)
    return plan(names, options)


def source(needing: Plan, plans: Sequence[Plan]) -> str | None:
    """The method whose output another is made from; None for one that needs none."""
    names = [each.name for each in plans]
    return next((name for name in needing.entry.after if name in names), None)


def _planned(name: str, options: Options) -> Plan:
    base, *suffixes = name.split("/")
    entry = find(base)
    if (lack := next((need for need in entry.needs if getattr(options, need.part) is None), None)) is not None:
        raise OospecError(f"method {name!r} {lack.unmet_command}")
    planned = Plan(name, base, entry, options.devices)
    for suffix in suffixes:
        if suffix not in SUFFIXES or suffixes.count(suffix) > 1:
            known = ", ".join(f"/{each}" for each in SUFFIXES)
            raise OospecError(f"method {name!r}: suffix '/{suffix}' is unknown or there twice; suffixes are {known}")
        planned = SUFFIXES[suffix](planned)
    if planned.cold and planned.reuse:
        raise OospecError(f"method {name!r}: /cold drops what /reuse keeps; leave one of them out")
    return planned


def request_order(requests: Sequence[Request], run: int) -> list[Request]:
    """Run 0 is in the order of the files, later ones are shuffled by their number."""
    order = list(requests)
    if run:
        random.Random(run).shuffle(order)
    return order


def balanced(items: Sequence[T], turn: int) -> list[T]:
    """Over ``2 * len(items)`` turns every item stands in each place, and follows each other one, equally often.

    A Latin square balanced for carry-over (Williams 1949): 0, 1, n-1, 2, n-2, …, shifted by one each turn, and
    backwards in the second half, which an odd n needs.
    """
    count = len(items)
    base = [(place + 1) // 2 if place % 2 else -(place // 2) for place in range(count)]
    turn %= 2 * count
    order = [items[(place + turn) % count] for place in base]
    return order[::-1] if turn >= count else order


def method_order(plans: Sequence[Plan], turn: int, *, first_run: bool) -> list[Plan]:
    """``balanced``; in the first run a method made from another's output comes right after it rather than before."""
    order = balanced(plans, turn)
    if not first_run:
        return order
    for needing in [each for each in order if each.entry.after]:
        names = [each.name for each in order]
        given = source(needing, order)
        if given is not None and names.index(needing.name) < names.index(given):
            order.remove(needing)
            order.insert(names.index(given), needing)  # its own removal has moved the other by one
    return order
