"""The engine serves one request at a time: what one leaves, cancelled or failed, does not reach the next."""

from __future__ import annotations

import asyncio
import threading

import pytest

from helpers.stubs import CALL, Run, YieldingExecutor, ask, call, served
from oospec_async.completion import Completion
from oospec_async.devices import Device
from oospec_async.events import WaveReport
from oospec_async.hints import CallHint, Hint
from oospec_async.request import Request
from oospec_async.runtime.executor import ThreadExecutor
from oospec_async.sidecar.channel import Address
from oospec_async.testing import CharCodec, MessagePrompts, ScriptedSidecar, ScriptedTarget, scripted_engine


@pytest.mark.parametrize("method", ["ar", "oospec"])
def test_requests_made_at_once_are_served_one_at_a_time_and_in_order(method: str, run: Run) -> None:
    cities = [f"City{n}" for n in range(5)]
    target, sidecar = ScriptedTarget({city: call(city) for city in cities}), ScriptedSidecar()
    engine = scripted_engine(target, sidecar, executor=YieldingExecutor(), method=method)

    async def all_at_once() -> list[Completion]:
        return await asyncio.gather(*(engine.generate(ask(city)) for city in cities))

    completions = run(all_at_once())
    assert [c.text for c in completions] == [call(city) for city in cities]
    assert target.prompts == cities
    steps = [event for event in engine.recorder.events if event.track == "target"]
    assert [e.request for e in steps if e.name == "prefill"] == cities
    assert sidecar.cancelled == sidecar.launched


def test_each_request_gets_hints_for_itself_alone(run: Run) -> None:
    target, sidecar = ScriptedTarget({"Paris?": call("Paris"), "Rome?": call("Rome")}), ScriptedSidecar()
    engine = scripted_engine(target, sidecar, method="hint")
    stale = Hint((CallHint("get_weather", {"city": "Paris", "days": 3}),))
    target.before_verify = lambda round_: sidecar.publish(stale, Address(1))
    first = served(engine, ask("Paris?"))
    second = served(engine, ask("Rome?"))
    assert first.metrics.hint.versions > 0
    assert second.metrics.hint.versions == 0
    assert sidecar.reader.rejected > 0


def test_a_request_cancelled_while_it_waits_for_its_turn_is_not_served(run: Run) -> None:
    target = ScriptedTarget({"a": CALL, "b": CALL, "c": CALL})
    engine = scripted_engine(target, executor=YieldingExecutor(), method="ar")

    async def cancel_the_second() -> None:
        first, second, third = (asyncio.create_task(engine.generate(ask(name))) for name in "abc")
        await asyncio.sleep(0)
        second.cancel()
        await asyncio.wait([first, second, third])
        assert second.cancelled()
        assert third.result().text == CALL

    run(cancel_the_second())
    assert target.prompts == ["a", "c"]


def test_a_cancelled_requests_forward_ends_before_the_next_request_begins(run: Run) -> None:
    began, release = threading.Event(), threading.Event()
    target = ScriptedTarget({"a": CALL, "b": CALL})
    order: list[str] = []

    def hold(round_: int) -> None:
        if target.prompts == ["a"]:
            began.set()
            release.wait(60)
            order.append("a's forward ends")

    target.before_verify = hold
    target.before_prefill = lambda: order.append(f"prefill {target.prompts[-1]}")
    executor = ThreadExecutor(Device("cpu"))
    engine = scripted_engine(target, executor=executor, method="ar")

    async def cancel_in_mid_forward() -> str:
        first = asyncio.create_task(engine.generate(ask("a")))
        while not began.is_set():
            await asyncio.sleep(0)
        first.cancel()
        await asyncio.wait([first])
        second = asyncio.create_task(engine.generate(ask("b")))
        await asyncio.sleep(0)
        release.set()
        return (await second).text

    try:
        assert run(cancel_in_mid_forward()) == CALL
    finally:
        executor.close()
    assert order == ["prefill a", "a's forward ends", "prefill b"]


def test_a_sidecar_whose_wave_raises_changes_nothing(run: Run) -> None:
    class Broken(ScriptedSidecar):
        async def wave(self, address: Address, request: Request, *, reuse: bool = False) -> WaveReport | None:
            raise RuntimeError("against the contract")

    completion = run(scripted_engine(ScriptedTarget(CALL), Broken()).generate(ask()))
    assert completion.text == CALL
    assert completion.metrics.hint.wave_seconds is None


def test_the_loop_goes_on_while_a_template_or_a_tokeniser_takes_its_time(run: Run) -> None:
    began, release = threading.Event(), threading.Event()

    class SlowPrompts(MessagePrompts):
        def ids(self, request: Request) -> list[int]:
            began.set()
            assert release.wait(60), "the loop waited for the prompt"
            return super().ids(request)

    executor, codec = ThreadExecutor(Device("cpu")), CharCodec()
    engine = scripted_engine(ScriptedTarget({"a": CALL}), executor=executor, prompts=SlowPrompts(codec), method="ar")

    async def release_it() -> Completion:
        serving = asyncio.create_task(engine.generate(ask("a")))
        while not began.is_set():
            await asyncio.sleep(0)
        release.set()
        return await serving

    try:
        assert run(release_it()).text == CALL
    finally:
        executor.close()
