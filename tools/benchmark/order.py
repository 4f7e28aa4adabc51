"""In which order requests and methods take their turns."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

from oospec_async.request import Request
from tools.benchmark.plan import Plan, source

T = TypeVar("T")


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
