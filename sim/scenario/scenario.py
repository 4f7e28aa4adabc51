"""A scenario: one method under one placement and load. Every field can be the axis of a study."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from oospec_async.errors import OospecError
from oospec_async.files.validation import shown
from sim.scenario.link import Link
from sim.scenario.load import Closed, Load, parse_load
from sim.scenario.parameters import suggestion, text_of
from sim.scenario.placement import Placement, Split, parse_placement

Reader = Callable[[object], Any]  # raises ValueError, which says what a value must be


@dataclass(frozen=True)
class Scenario:
    """Seconds and bytes; ``scale_sidecar`` 2 is a sidecar device twice as fast as the recorded one."""

    method: str = "oospec"
    placement: Placement = field(default_factory=Split)
    load: Load = field(default_factory=Closed)
    targets: int = 1
    sidecars: int = 1
    scale_sidecar: float = 1.0
    link_latency: float | None = None  # None: as recorded
    link_bandwidth: float | None = None  # None: no limit
    jitter: bool = False
    seed: int = 0

    @property
    def link(self) -> Link:
        return Link(self.link_latency, self.link_bandwidth)

    @property
    def alone(self) -> Scenario:
        """The same without anything that only a sidecar feels: what a method without a wave depends on."""
        return replace(self, sidecars=self.targets, scale_sidecar=1.0, link_latency=None, link_bandwidth=None)

    def as_json(self) -> dict[str, Any]:
        """Field by field, placement, load and an infinite speed as text: JSON knows no infinity."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        values |= {"scale_sidecar": "inf"} if math.isinf(self.scale_sidecar) else {}
        return values | {"placement": text_of(self.placement), "load": text_of(self.load)}

    @property
    def label(self) -> str:
        """One line that names what differs from the defaults."""
        mine, usual = self.as_json(), Scenario().as_json()
        named = {"method", "placement", "load"}
        shown = [f"{name}={_plain(mine[name])}" for name in mine if name in named or mine[name] != usual[name]]
        return " ".join(shown)


class UnfitFleet(OospecError):
    """A placement that cannot have so many targets and sidecars."""


def scenario_of(values: Mapping[str, object], what: str = "scenario") -> Scenario:
    """A scenario from plain values (from TOML, or text from a command line).

    Without a number of sidecars there is one; where a device is shared, one for every target. Raises OospecError,
    beginning with ``what``, for an unknown field or a value that it cannot have.
    """
    return scenario_from(read_fields(values, what), what)


def read_fields(values: Mapping[str, object], what: str) -> dict[str, Any]:
    """Plain values as a scenario has them, each by itself. Raises OospecError as ``scenario_of`` does."""
    read: dict[str, Any] = {}
    for name, value in values.items():
        if name not in _READERS:
            raise OospecError(f"{what}: there is no field {name!r}; {suggestion(name, _READERS)}")
        try:
            read[name] = _READERS[name](value)
        except ValueError as error:
            raise OospecError(f"{what}: {name}: {error}, not {shown(value)}") from None
        except OospecError as error:
            raise OospecError(f"{what}: {error}") from None
    return read


def scenario_from(read: Mapping[str, Any], what: str) -> Scenario:
    """A scenario from what ``read_fields`` gives. Raises UnfitFleet."""
    made = Scenario(**read)
    if made.placement.layout().sharing == "alone" or made.sidecars == made.targets:
        return made
    if "sidecars" not in read:
        return replace(made, sidecars=made.targets)
    raise UnfitFleet(
        f"{what}: placement {made.placement.name} puts a sidecar beside every target; "
        f"sidecars must equal targets ({made.targets}), not {made.sidecars}"
    )


def _plain(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value).lower() if isinstance(value, bool) else str(value)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("must be text")
    return value


def _number(kind: type[int] | type[float], least: float, most: float, *, endless: bool = False) -> Reader:
    what = (
        f"must be a {'whole ' if kind is int else ''}number from {least:g} to {most:g}{', or inf' if endless else ''}"
    )

    def read(value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, kind | int | str):
            raise ValueError(what)
        try:
            number = kind(value)
        except (ValueError, OverflowError):  # also of thousands of digits
            raise ValueError(what) from None
        if not least <= number <= most and not (endless and number == math.inf):
            raise ValueError(what)
        return number

    return read


def _optional(read: Reader) -> Reader:
    return lambda value: None if value in ("recorded", "none", None) else read(value)


def _flag(value: object) -> bool:
    known = {True: True, False: False, "true": True, "false": False}
    if not isinstance(value, bool | str) or value not in known:
        raise ValueError("must be true or false")
    return known[value]


_MOST_DEVICES = 10_000  # of each model

_READERS: dict[str, Reader] = {
    "method": _text,
    "placement": lambda value: parse_placement(_text(value)),
    "load": lambda value: parse_load(_text(value)),
    "targets": _number(int, 1, _MOST_DEVICES),
    "sidecars": _number(int, 1, _MOST_DEVICES),
    "scale_sidecar": _number(float, 1e-9, 1e9, endless=True),
    "link_latency": _optional(_number(float, 0, 1e6)),  # seconds
    "link_bandwidth": _optional(_number(float, 1e-9, 1e18)),  # bytes per second
    "jitter": _flag,
    "seed": _number(int, 0, 10**18),
}
