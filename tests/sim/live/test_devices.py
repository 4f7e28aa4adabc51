"""Devices on the virtual clock: nothing overlaps on a queue, and what runs at once is slowed as it should be."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.live.clock import VirtualClock
from sim.live.devices import Model, Queueing, Together, VirtualDevice, build
from sim.replay.timetable import Rank
from sim.scenario.placement import Layout, parse_placement

Asked = tuple[int, Model, int]  # at, by whom, for how many ns


def spans(device: VirtualDevice, clock: VirtualClock, asked: list[Asked]) -> list[tuple[Model, int, int]]:
    """In the order of their ends."""
    seen: list[tuple[Model, int, int]] = []

    def ask(model: Model, ns: int) -> None:
        device.ask(model, ns, lambda begin, end: seen.append((model, begin, end)))

    for at, model, ns in asked:
        clock.at(at, Rank.TARGET_ASKS, lambda model=model, ns=ns: ask(model, ns))
    clock.run_out()
    return seen


@given(st.lists(st.tuples(st.integers(0, 20), st.sampled_from(["target", "sidecar"]), st.integers(1, 9)), max_size=8))
def test_a_queue_serves_one_at_a_time_in_order_and_is_never_idle_for_nothing(asked: list[Asked]) -> None:
    clock = VirtualClock()
    seen = spans(Queueing(clock), clock, asked)
    free = 0
    for (at, model, ns), span in zip(sorted(asked, key=lambda each: each[0]), seen, strict=True):
        begin = max(at, free)
        free = begin + ns
        assert span == (model, begin, free)


def test_two_forwards_at_once_are_slowed_while_they_overlap() -> None:
    clock = VirtualClock()
    device = Together(clock, (2.0, 3.0))
    # The target does 4 of its 10 alone, and the other 6 at half speed, until 16. By then the sidecar has done 4 of its
    # 10; it does the other 6 alone.
    assert spans(device, clock, [(0, "target", 10), (4, "sidecar", 10)]) == [("target", 0, 16), ("sidecar", 4, 22)]


def test_two_forwards_that_end_together_both_end() -> None:
    clock = VirtualClock()
    asked: list[Asked] = [(0, "target", 5), (0, "sidecar", 5)]
    assert spans(Together(clock, (2.0, 2.0)), clock, asked) == [("target", 0, 10), ("sidecar", 0, 10)]


@given(st.integers(0, 30), st.integers(1, 40), st.integers(1, 40), st.floats(1, 4), st.floats(1, 4))
def test_sharing_takes_as_long_as_its_law_says(at: int, target: int, sidecar: int, slow: float, other: float) -> None:
    clock = VirtualClock()
    asked: list[Asked] = [(0, "target", target), (at, "sidecar", sidecar)]
    ends = {model: end for model, _, end in spans(Together(clock, (slow, other)), clock, asked)}
    alone = min(at, target)
    left = target - alone  # when the sidecar comes
    both = min(left * slow, sidecar * other)
    assert ends["target"] == pytest.approx(alone + both + (left - both / slow), abs=2.5)  # ends are rounded up
    assert ends["sidecar"] == pytest.approx(at + both + (sidecar - both / other), abs=2.5)


def test_what_is_shared_is_one_device_and_only_while_there_are_waves() -> None:
    clock = VirtualClock()
    for name, shared in (("split", False), ("shared", True), ("shared-fair", True), ("fraction", False)):
        layout: Layout = parse_placement(name).layout()
        target, sidecar = build(clock, layout, waves=True)
        assert (target is sidecar) is shared
        target, sidecar = build(clock, layout, waves=False)
        assert target is not sidecar
