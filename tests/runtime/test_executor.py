"""Executors: one call at a time, in order, whatever becomes of those who wait."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pytest

from helpers.stubs import Run
from oospec_async.devices import Device
from oospec_async.runtime.executor import Executor, InlineExecutor, ThreadExecutor


@pytest.fixture
def thread() -> Iterator[ThreadExecutor]:
    executor = ThreadExecutor(Device("cpu"))
    yield executor
    executor.close()


@pytest.fixture(params=["thread", "inline"])
def executor(request: pytest.FixtureRequest) -> Iterator[Executor]:
    made: Executor = ThreadExecutor(Device("cpu")) if request.param == "thread" else InlineExecutor()
    yield made
    made.close()


def test_calls_run_in_the_order_in_which_they_were_made(executor: Executor, run: Run) -> None:
    seen: list[int] = []

    def call(n: int) -> int:
        seen.append(n)
        return n

    async def many() -> list[int]:
        return await asyncio.gather(*(executor.run(call, n) for n in range(20)))

    assert run(many()) == seen == list(range(20))


def test_an_exception_passes_through_and_the_next_call_runs(executor: Executor, run: Run) -> None:
    def fail() -> None:
        raise LookupError("mine")

    async def fail_then_run() -> int:
        with pytest.raises(LookupError, match="mine"):
            await executor.run(fail)
        return await executor.run(lambda: 1)

    assert run(fail_then_run()) == 1


def test_a_thread_executor_runs_every_call_on_one_thread_beside_the_loop(thread: ThreadExecutor, run: Run) -> None:
    async def threads() -> set[int]:
        return {await thread.run(threading.get_ident) for _ in range(5)}

    idents = run(threads())
    assert len(idents) == 1
    assert threading.get_ident() not in idents


def test_the_loop_goes_on_while_a_call_runs(thread: ThreadExecutor, run: Run) -> None:
    release = threading.Event()

    async def release_it() -> bool:
        waiting = asyncio.create_task(thread.run(release.wait, 60))
        await asyncio.sleep(0)
        release.set()  # would never come to pass if the loop waited for the call
        return await waiting

    assert run(release_it())


def test_a_cancelled_call_does_not_overlap_with_the_next_one(thread: ThreadExecutor, run: Run) -> None:
    began, release = threading.Event(), threading.Event()
    running, most = 0, 0

    def call() -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        began.set()
        release.wait(60)
        running -= 1

    async def cancel_one_start_another() -> None:
        first = asyncio.create_task(thread.run(call))
        while not began.is_set():
            await asyncio.sleep(0)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        second = asyncio.create_task(thread.run(call))
        await asyncio.sleep(0)
        assert running == 1, "the cancelled call still runs, and the second waits for it"
        release.set()
        await second

    run(cancel_one_start_another())
    assert (running, most) == (0, 1)


def test_a_call_cancelled_before_its_turn_never_runs(thread: ThreadExecutor, run: Run) -> None:
    release = threading.Event()
    ran: list[str] = []

    async def cancel_the_second() -> None:
        first = asyncio.create_task(thread.run(release.wait, 60))
        second = asyncio.create_task(thread.run(ran.append, "second"))
        await asyncio.sleep(0)
        second.cancel()
        await asyncio.wait([second])
        release.set()
        await first
        await thread.run(ran.append, "third")

    run(cancel_the_second())
    assert ran == ["third"]


def test_close_waits_for_the_running_call_and_drops_those_behind_it(run: Run) -> None:
    executor = ThreadExecutor(Device("cpu"))
    began, release = threading.Event(), threading.Event()
    done: list[int] = []

    def first() -> None:
        began.set()
        release.wait(60)
        done.append(1)

    async def close_in_mid_call() -> None:
        calls = [asyncio.create_task(executor.run(call)) for call in (first, lambda: done.append(2))]
        while not began.is_set():
            await asyncio.sleep(0)
        closing = threading.Thread(target=executor.close)
        closing.start()
        await asyncio.wait(calls[1:])
        assert calls[1].cancelled()
        assert closing.is_alive()
        release.set()
        await calls[0]
        closing.join()
        with pytest.raises(RuntimeError):
            await executor.run(lambda: None)

    run(close_in_mid_call())
    assert done == [1]
