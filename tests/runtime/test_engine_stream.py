"""Streams of the engine: chunks that add up to the completion, and streams that are left early."""

from __future__ import annotations

import asyncio

import pytest

from helpers.stubs import CALL, HINT, Run, YieldingExecutor, ask
from oospec_async.completion import Chunk, Completion
from oospec_async.errors import OospecError
from oospec_async.request import Request
from oospec_async.runtime.engine import Engine
from oospec_async.testing import ScriptedSidecar, ScriptedTarget, scripted_engine


async def chunks_of(engine: Engine, request: Request) -> tuple[list[Chunk], Completion]:
    items = [item async for item in engine.stream(request)]
    chunks = [item for item in items if isinstance(item, Chunk)]
    assert isinstance(items[-1], Completion)
    assert len(chunks) == len(items) - 1
    return chunks, items[-1]


@pytest.mark.parametrize("method", ["ar", "pld", "toolspec", "oospec"])
def test_the_chunks_of_a_stream_add_up_to_its_completion_and_one_finishes_it(method: str, run: Run) -> None:
    sidecar = ScriptedSidecar(HINT)
    engine = scripted_engine(ScriptedTarget(CALL), sidecar, executor=YieldingExecutor(), method=method)
    chunks, completion = run(chunks_of(engine, ask()))
    assert sum((chunk.tokens for chunk in chunks), ()) == completion.tokens
    assert sum((chunk.sources for chunk in chunks), ()) == completion.sources
    assert "".join(piece for chunk in chunks for piece in chunk.pieces) == completion.text
    assert [chunk.finish for chunk in chunks] == [None] * (len(chunks) - 1) + [completion.finish]
    assert len(chunks) == completion.metrics.rounds + 1


def test_a_stream_yields_a_chunk_before_the_next_round_ends(run: Run) -> None:
    target = ScriptedTarget(CALL)
    engine = scripted_engine(target, executor=YieldingExecutor(), method="ar")

    async def rounds_at_chunks() -> list[int]:
        return [target.rounds async for item in engine.stream(ask()) if isinstance(item, Chunk)]

    seen = run(rounds_at_chunks())
    assert all(rounds - number <= 1 for number, rounds in enumerate(seen))


def test_a_stream_raises_what_its_request_raises(run: Run) -> None:
    async def stream(engine: Engine, method: str) -> None:
        async for _ in engine.stream(ask(), method):
            pass

    with pytest.raises(OospecError, match="no sidecar"):
        run(stream(scripted_engine(ScriptedTarget(CALL)), "oospec"))


def test_a_consumer_cancelled_in_mid_stream_leaves_the_engine_usable(run: Run) -> None:
    sidecar = ScriptedSidecar()
    engine = scripted_engine(ScriptedTarget(CALL), sidecar, executor=YieldingExecutor())

    async def consume(begun: asyncio.Event) -> None:
        async for _ in engine.stream(ask()):
            begun.set()

    async def cancel_it() -> str:
        begun = asyncio.Event()
        consumer = asyncio.create_task(consume(begun))
        await begun.wait()
        consumer.cancel()
        with pytest.raises(asyncio.CancelledError):
            await consumer
        return (await engine.generate(ask())).text

    assert run(cancel_it()) == CALL
    assert sidecar.cancelled == sidecar.launched
