"""Virtual time: it jumps, it never sleeps, and at one nanosecond things happen by rank."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.live.clock import VirtualClock
from sim.live.loop import run_virtually
from sim.replay.timetable import Rank

HOUR = 3_600_000_000_000  # ns


@given(st.lists(st.tuples(st.integers(0, 5), st.sampled_from(Rank))))
def test_events_happen_by_time_then_rank_then_in_the_order_of_planning(planned: list[tuple[int, Rank]]) -> None:
    clock = VirtualClock()
    happened: list[tuple[int, Rank, int]] = []
    for number, (at, rank) in enumerate(planned):
        clock.at(at, rank, lambda at=at, rank=rank, number=number: happened.append((at, rank, number)))
    clock.run_out()
    assert happened == sorted((at, rank, number) for number, (at, rank) in enumerate(planned))


@given(st.lists(st.tuples(st.integers(0, 9), st.sampled_from(Rank))), st.integers(0, 9), st.sampled_from(Rank))
def test_while_the_host_works_all_that_comes_before_its_next_act_happens(
    planned: list[tuple[int, Rank]], ns: int, then: Rank
) -> None:
    clock = VirtualClock()
    happened: list[tuple[int, Rank]] = []
    for at, rank in planned:
        clock.at(at, rank, lambda at=at, rank=rank: happened.append((at, rank)))
    clock.spend(ns, then)
    assert clock() == ns
    assert happened == sorted(each for each in planned if each < (ns, then))


def test_an_event_may_plan_another_at_once() -> None:
    clock = VirtualClock()
    happened: list[int] = []
    clock.at(3, Rank.ENDS, lambda: clock.at(3, Rank.ENDS, lambda: happened.append(clock())))
    clock.spend(3, Rank.POLL)
    assert happened == [3]


def test_an_hour_passes_at_once() -> None:
    clock = VirtualClock()

    async def wait() -> float:
        loop = asyncio.get_running_loop()
        begin = loop.time()
        await asyncio.sleep(3600)
        return loop.time() - begin

    assert run_virtually(wait(), clock) == pytest.approx(3600, abs=1e-8)
    assert HOUR <= clock() <= HOUR + 2


def test_a_timeout_of_nothing_lets_no_time_pass() -> None:
    clock = VirtualClock()

    async def wait() -> bool:
        clock.at(0, Rank.SIDECAR_ASKS, lambda: None)
        clock.at(1, Rank.ENDS, lambda: None)
        task = asyncio.create_task(asyncio.Event().wait())
        await asyncio.wait([task], timeout=0)
        task.cancel()
        await asyncio.wait([task])
        return clock() == 0

    assert run_virtually(wait(), clock)


def test_a_timer_comes_after_the_events_before_it_and_is_not_early() -> None:
    clock = VirtualClock()
    seen: list[int] = []

    async def wait() -> None:
        for at in (HOUR - 1, HOUR + 5):
            clock.at(at, Rank.ENDS, lambda: seen.append(clock()))
        await asyncio.sleep(3600)
        seen.append(clock())

    run_virtually(wait(), clock)
    assert seen[0] == HOUR - 1
    assert HOUR <= seen[1] <= HOUR + 2
    clock.run_out()
    assert seen[2] == HOUR + 5


def test_waiting_for_ever_is_an_error_and_no_hang() -> None:
    async def wait() -> None:
        await asyncio.Event().wait()

    clock = VirtualClock()
    with pytest.raises(RuntimeError, match="stands still"):
        run_virtually(wait(), clock)
