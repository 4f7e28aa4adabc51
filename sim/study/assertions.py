"""Assertions of a study: a figure, an order, and a number."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from oospec_async.errors import OospecError
from sim.figures.measure import Figures, known_figures, pick
from sim.scenario.parameters import suggestion
from sim.scenario.scenario import Scenario, read_fields

_ORDERS: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt, "==": operator.eq,
}  # fmt: skip
_FORM = re.compile(r"\s*([A-Za-z0-9_.]+)\s*(>=|<=|==|>|<)\s*([-+0-9.eE]+)\s*")


@dataclass(frozen=True)
class Assertion:
    """``scenarios``: indices of those that it is about."""

    text: str
    metric: str
    order: str
    bound: float
    scenarios: Sequence[int]

    def holds(self, value: float | None) -> bool:
        """A figure that is not there (a hint of a method without a sidecar) fails."""
        return value is not None and _ORDERS[self.order](value, self.bound)


@dataclass(frozen=True)
class Verdict:
    """An assertion, and where it failed: index of the scenario, and the value (None: no such figure there)."""

    assertion: Assertion
    failures: Sequence[tuple[int, float | None]]


def parse_assertion(text: str, where: Mapping[str, object], scenarios: Sequence[Scenario], what: str) -> Assertion:
    """Raises OospecError, beginning with ``what``, for an unknown figure or a ``where`` that no scenario fits."""
    match = _FORM.fullmatch(text)
    if match is None:
        raise OospecError(f"{what}: {text!r} is not METRIC ORDER NUMBER, such as speedup_vs_toolspec.mean >= 1.2")
    metric, order, number = match.groups()
    known = known_figures()
    if metric not in known:
        raise OospecError(f"{what}: there is no figure {metric!r}; {_meant(metric, known)}")
    try:
        bound = float(number)
    except ValueError:
        raise OospecError(f"{what}: {number!r} is no number") from None
    wanted = read_fields(where, f"{what}: where").items()
    about = [i for i, s in enumerate(scenarios) if all(getattr(s, name) == value for name, value in wanted)]
    named = ", ".join(f"{name} = {value}" for name, value in where.items())
    if not about:
        raise OospecError(f"{what}: where: no scenario of the grid has {named}")
    said = f"{metric} {order} {number}{f' where {named}' if named else ''}"
    return Assertion(said, metric, order, bound, about)


def judge(assertion: Assertion, figures: Sequence[Figures]) -> Verdict:
    """``figures`` of all scenarios, by index."""
    values = [(index, pick(figures[index], assertion.metric)) for index in assertion.scenarios]
    return Verdict(assertion, [(index, value) for index, value in values if not assertion.holds(value)])


def _meant(metric: str, known: Sequence[str]) -> str:
    """For a bare name of a distribution: its parts."""
    parts = [name for name in known if name.startswith(f"{metric}.")]
    return f"write one of {', '.join(parts)}" if parts else suggestion(metric, known)
