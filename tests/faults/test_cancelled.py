"""Cancelled wherever a request can be, and streams that are left early: the next request is right."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from typing import Any

import pytest

from helpers import tiny
from helpers.stubs import HINT, Run, YieldingExecutor, ask, call
from oospec_async.completion import Chunk
from oospec_async.decoding.tree import VerifyCurve
from oospec_async.devices import Device
from oospec_async.runtime.engine import Engine
from oospec_async.runtime.executor import ThreadExecutor
from oospec_async.runtime.failure import RequestFailed
from oospec_async.runtime.parts import Parts
from oospec_async.sidecar import worker as sidecar_worker
from oospec_async.sidecar.channel import CHANNEL_SIZE, HintWriter
from oospec_async.sidecar.messages import Job
from oospec_async.target.prompts import Prompts
from oospec_async.testing import END, ScriptedSidecar, ScriptedTarget, scripted_engine

ANSWERS = {"first": call("P", 1), "next": call("Q", 2)}
FIRST = ask("first", max_new_tokens=30)  # short, since it is cancelled at each of its steps
METHODS = ("ar", "toolspec", "hint")


def engine_with(sidecar: ScriptedSidecar, method: str, finish_waves: bool) -> Engine:
    return scripted_engine(
        ScriptedTarget(ANSWERS), sidecar, executor=YieldingExecutor(), method=method, finish_waves=finish_waves
    )


async def turns_of(engine: Engine) -> int:
    """Turns of the loop that an undisturbed request takes: at each of them it is suspended somewhere."""
    task, turns = asyncio.create_task(engine.generate(FIRST)), 0
    while not task.done():
        turns += 1
        await asyncio.sleep(0)
    return turns


@pytest.fixture(params=[1, 2], ids=["once", "twice"])
def times(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.mark.parametrize("finish_waves", [False, True], ids=["", "finishing waves"])
@pytest.mark.parametrize("method", METHODS)
def test_cancelled_at_every_suspension(method: str, finish_waves: bool, times: int, run: Run) -> None:
    def sidecar() -> ScriptedSidecar:
        return ScriptedSidecar(HINT, ends=finish_waves)

    async def cancel(turn: int) -> None:
        waves = sidecar()
        engine = engine_with(waves, method, finish_waves)
        task = asyncio.create_task(engine.generate(FIRST))
        for _ in range(turn):
            await asyncio.sleep(0)
        for _ in range(times):
            task.cancel()
            await asyncio.sleep(0)
        await asyncio.wait([task])
        assert task.cancelled()
        learnt = {entry.tokens for entry in engine._memories[method]._entries}
        assert learnt <= {tuple(map(ord, ANSWERS["first"][:30]))}, "what was cut short teaches nothing"
        completion = await engine.generate(ask("next"))
        assert completion.tokens == (*map(ord, ANSWERS["next"]), END)
        assert finish_waves or waves.cancelled == waves.launched
        assert asyncio.all_tasks() == {asyncio.current_task()}, "a task was left behind"

    async def cancel_everywhere() -> int:
        turns = await turns_of(engine_with(sidecar(), method, finish_waves))
        for turn in range(turns):
            await cancel(turn)
        return turns

    assert run(cancel_everywhere()) > 2


@pytest.mark.parametrize("closing", [True, False], ids=["closed", "dropped"])
def test_a_stream_left_after_any_chunk(closing: bool, run: Run) -> None:
    async def leave(after: int) -> bool:
        """Whether the stream had more than so many chunks."""
        sidecar = ScriptedSidecar()
        engine = engine_with(sidecar, "schema+hint", False)
        stream, seen = engine.stream(ask("first")), 0
        async for item in stream:
            seen += isinstance(item, Chunk)
            if seen > after:
                break
        if closing:
            await stream.aclose()
        del stream
        completion = await engine.generate(ask("next"))
        assert completion.tokens == (*map(ord, ANSWERS["next"]), END)
        assert sidecar.cancelled == sidecar.launched
        return seen > after

    async def leave_everywhere() -> int:
        after = 0
        while await leave(after):
            after += 1
        return after

    assert run(leave_everywhere()) > 5


def test_a_stream_left_while_its_request_fails_raises_nothing_more(run: Run) -> None:
    async def leave() -> str:
        target = ScriptedTarget(ANSWERS)
        engine = scripted_engine(target, executor=YieldingExecutor(), method="ar")

        def fail(round_: int) -> None:
            raise MemoryError

        target.before_verify = fail
        async with aclosing(engine.stream(ask("first"))) as stream:
            async for _ in stream:
                for _ in range(5):
                    await asyncio.sleep(0)  # it fails meanwhile
                break
        target.before_verify = lambda round_: None
        return (await engine.generate(ask("next"))).text

    assert run(leave()) == ANSWERS["next"]


def test_a_stream_that_fails_tells_what_was_committed_before_and_cancels_its_wave(run: Run) -> None:
    sidecar = ScriptedSidecar()

    async def read() -> str:
        target = ScriptedTarget(ANSWERS)
        engine = scripted_engine(target, sidecar, executor=YieldingExecutor(), method="hint")

        def fail(round_: int) -> None:
            if round_ == 4:
                raise MemoryError

        target.before_verify = fail
        stream = engine.stream(ask("first"))
        chunks = [await anext(stream) for _ in range(4)]
        with pytest.raises(RequestFailed, match="out of memory"):
            await anext(stream)
        return "".join(piece for chunk in chunks if isinstance(chunk, Chunk) for piece in chunk.pieces)

    assert run(read()) == ANSWERS["first"][:4]
    assert sidecar.cancelled == sidecar.launched


@pytest.mark.parametrize("reuse", [False, True], ids=["", "reusing prefixes"])
def test_cancelled_within_any_forward_of_a_real_target_the_next_output_is_generates(reuse: bool, run: Run) -> None:
    """The forward goes on, on its thread, and must not touch what the next request stands on."""
    model, executor = tiny.random_model("llama"), ThreadExecutor(Device("cpu"))
    target = tiny.target_of(model)
    parts = Parts(
        target, executor, Prompts(tiny.tokenizer(), "tiny"), tiny.codec(), VerifyCurve(), method="toolspec",
        reuse_prefix=reuse,
    )  # fmt: skip
    engine, forward = Engine(parts), model.model.forward
    first, following = (tiny.request(text, id=text, max_new_tokens=16) for text in ("first", "what is next"))
    expected = tiny.generate(model, tiny.prompt_ids(following), 16)

    async def cancel_within(number: int) -> list[int]:
        loop, calls = asyncio.get_running_loop(), 0
        task: asyncio.Task[Any] = asyncio.create_task(engine.generate(first))

        def cancelling(*arguments: Any, **options: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == number:
                loop.call_soon_threadsafe(task.cancel)
            return forward(*arguments, **options)

        model.model.forward = cancelling
        await asyncio.wait([task])
        assert task.cancelled()
        model.model.forward = forward
        return list((await engine.generate(following)).tokens)

    try:
        for number in range(1, 9):
            assert run(cancel_within(number)) == expected
    finally:
        executor.close()


def test_waiting_requests_that_are_cancelled_in_any_order_hold_up_nobody(run: Run) -> None:
    async def serve(cancelled: Callable[[int], bool]) -> None:
        engine = engine_with(ScriptedSidecar(), "schema+hint", False)
        tasks = [asyncio.create_task(engine.generate(ask("first"))) for _ in range(6)]
        for turn in range(30):
            await asyncio.sleep(0)
            if turn % 3 == 0 and cancelled(turn):
                tasks[turn // 3 % 6].cancel()
        await asyncio.wait(tasks)
        texts = {task.result().text for task in tasks if not task.cancelled()}
        assert texts <= {ANSWERS["first"]}
        assert (await engine.generate(ask("next"))).text == ANSWERS["next"]

    for pattern in range(1, 16):
        run(serve(lambda turn, pattern=pattern: bool(pattern >> (turn // 3 % 4) & 1)))  # type: ignore[misc]


def test_a_worker_forgets_cancellations_that_came_too_late() -> None:
    """One may come after its wave's report: a worker that serves for days must not collect them."""
    cancelled = {1, 2, 3, 5}
    writer = HintWriter(memoryview(bytearray(CHANNEL_SIZE)))
    job = Job(serial=4, request=ask(), reuse=False)
    assert sidecar_worker._run(job, None, writer, cancelled).error  # type: ignore[arg-type]  # there is no model
    assert cancelled == {5}
