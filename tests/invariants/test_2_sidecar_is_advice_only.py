"""Invariant 2: nothing the sidecar does can change an output, raise into a request, or delay a round.

A real target on real executors, and workers that misbehave, each in its own way. ``stub_worker`` lists them.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Iterator
from typing import Any, ParamSpec, TypeVar

import pytest
import uvloop

from helpers import calling, tiny
from helpers.sidecars import opened, stub_sidecar
from helpers.stubs import Run
from oospec_async.completion import Completion
from oospec_async.decoding.tree import VerifyCurve
from oospec_async.devices import Device
from oospec_async.runtime.engine import Engine
from oospec_async.runtime.executor import ThreadExecutor
from oospec_async.runtime.parts import Parts
from oospec_async.sidecar.channel import CHANNEL_SIZE
from oospec_async.sidecar.process import SidecarProcess

P = ParamSpec("P")
T = TypeVar("T")

WRITERS = (
    "random bytes", "huge strings", "unknown functions", "wrong types", "wrong values", "half a message", "flood",
    "shrinks the channel", "dies",
)  # fmt: skip
OTHERS = ("silent", "stops", "lies", "chatter", "endless line", "closes its output")


class Patient:
    """Runs the target only when the worker's misdeed has reached the channel, so that all rounds meet it."""

    def __init__(self, inner: ThreadExecutor, sidecar: SidecarProcess) -> None:
        self._inner, self._sidecar = inner, sidecar
        self._untouched = bytes(CHANNEL_SIZE)

    async def run(self, function: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T:
        asked = not isinstance(getattr(function, "__self__", None), Engine)  # it writes the prompt before it asks
        while asked and self._sidecar.pid is not None and bytes(self._sidecar._block) == self._untouched:
            await asyncio.sleep(0)
        return await self._inner.run(function, *arguments, **options)

    def close(self) -> None:
        return


@pytest.fixture(scope="module")
def executor() -> Iterator[ThreadExecutor]:
    executor = ThreadExecutor(Device("cpu"))
    yield executor
    executor.close()


@pytest.fixture(scope="module")
def expected() -> dict[str, list[int]]:
    """What ``transformers`` makes of every question; its end token closes each answer."""
    model = calling.calling_model()
    end = tiny.token("<|im_end|>")
    return {name: tiny.generate(model, calling.question(name), 128, eos_token_id=end) for name in calling.ANSWERS}


def parts(executor: Any, sidecar: SidecarProcess | None) -> Parts:
    model = calling.calling_model()
    target = tiny.target_of(model)
    target._rule = type(target._rule)(frozenset({tiny.token("<|im_end|>")}))
    return Parts(target, executor, calling.Questions(), tiny.codec(), VerifyCurve(), sidecar)


async def serve(engine: Engine, sidecar: SidecarProcess) -> dict[str, Completion]:
    async def use(_: SidecarProcess) -> dict[str, Completion]:
        requests = {name: tiny.request(name, max_new_tokens=128) for name in calling.ANSWERS}
        return {name: await engine.generate(request) for name, request in requests.items()}

    completions: dict[str, Completion] = await opened(sidecar, use)
    return completions


def ids(completions: dict[str, Completion]) -> dict[str, list[int]]:
    return {name: list(completion.tokens) for name, completion in completions.items()}


@pytest.mark.parametrize("misdeed", WRITERS)
def test_what_a_worker_writes_into_the_channel_changes_no_output(
    misdeed: str, executor: ThreadExecutor, expected: dict[str, list[int]]
) -> None:
    sidecar = stub_sidecar(misdeed)
    completions = uvloop.run(serve(Engine(parts(Patient(executor, sidecar), sidecar)), sidecar))
    assert ids(completions) == expected
    versions = sum(completion.metrics.hint.versions for completion in completions.values())
    assert versions + sidecar.reader.rejected > 0 or misdeed in ("random bytes", "shrinks the channel", "dies")


@pytest.mark.parametrize("misdeed", OTHERS)
def test_what_a_worker_says_or_leaves_unsaid_changes_no_output(
    misdeed: str, executor: ThreadExecutor, expected: dict[str, list[int]]
) -> None:
    sidecar = stub_sidecar(misdeed)
    completions = uvloop.run(serve(Engine(parts(executor, sidecar)), sidecar))
    assert ids(completions) == expected
    assert {completion.metrics.hint.wave_seconds for completion in completions.values()} == {None}


def test_a_worker_killed_at_any_round_changes_no_output(
    run: Run, executor: ThreadExecutor, expected: dict[str, list[int]]
) -> None:
    sidecar = stub_sidecar("wrong values")
    engine = Engine(parts(executor, sidecar))
    verify, rounds, killed = engine.parts.target.verify, 0, set()

    def verify_and_kill(*arguments: Any) -> Any:
        nonlocal rounds
        rounds += 1
        pid = sidecar.pid
        if rounds % 5 == 1 and pid is not None and pid not in killed:
            killed.add(pid)
            os.kill(pid, signal.SIGKILL)
        return verify(*arguments)

    engine.parts.target.verify = verify_and_kill  # type: ignore[method-assign,assignment]
    assert ids(run(serve(engine, sidecar))) == expected
    assert killed


def test_a_reader_that_meets_junk_in_every_round_changes_no_output_of_any_method(
    executor: ThreadExecutor, expected: dict[str, list[int]]
) -> None:
    """Each hint that a misdeed leaves in the channel, taken by every mix of drafters that takes hints."""
    for method in ("hint", "oospec", "hint+lookup"):
        sidecar = stub_sidecar("wrong values")
        given = parts(Patient(executor, sidecar), sidecar)
        engine = Engine(Parts(**{**given.__dict__, "method": method}))
        completions = uvloop.run(serve(engine, sidecar))
        assert ids(completions) == expected
        assert any(completion.metrics.hint.versions for completion in completions.values())
