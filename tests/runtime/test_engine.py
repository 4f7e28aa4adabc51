"""The engine on stand-ins: who is served when, what becomes of a request, and what is said about it."""

from __future__ import annotations

import asyncio
import dataclasses
import threading
import time
from typing import Any

import pytest

from helpers.stubs import (
    CALL,
    END,
    HINT,
    Run,
    ScriptedTarget,
    StubSidecar,
    YieldingExecutor,
    ask,
    call,
    engine_of,
)
from oospec_async.completion import Chunk, Completion
from oospec_async.errors import OospecError
from oospec_async.hints import CallHint, Hint, encode_hint
from oospec_async.request import Message, Request
from oospec_async.runtime.channel import Address
from oospec_async.runtime.devices import Device
from oospec_async.runtime.engine import Engine
from oospec_async.runtime.executor import ThreadExecutor
from oospec_async.runtime.ports import WaveReport
from oospec_async.runtime.recorder import Event

PLAIN = ("ar", "pld", "toolspec")  # methods that take no hints
METHODS = (*PLAIN, "oospec")


def served(engine: Engine, request: Request | None = None, method: str | None = None) -> Completion:
    return asyncio.run(engine.generate(request or ask(), method))


async def chunks_of(engine: Engine, request: Request) -> tuple[list[Chunk], Completion]:
    items = [item async for item in engine.stream(request)]
    chunks = [item for item in items if isinstance(item, Chunk)]
    assert isinstance(items[-1], Completion)
    assert len(chunks) == len(items) - 1
    return chunks, items[-1]


# --- generate


@pytest.mark.parametrize("method", METHODS)
def test_the_output_is_the_targets_own_by_every_method(method: str) -> None:
    completion = served(engine_of(ScriptedTarget(), StubSidecar()), method=method)
    assert completion.text == CALL
    assert completion.tokens == (*map(ord, CALL), END)
    assert completion.finish == "stop"
    assert [(c.name, c.arguments) for c in completion.calls] == [("get_weather", {"city": "Paris", "days": 3})]
    assert (completion.request, completion.method) == ("Paris?", method)
    assert len(completion.sources) == len(completion.margins) == len(completion.tokens)


def test_ar_drafts_nothing_and_takes_a_round_per_token() -> None:
    metrics = served(engine_of(ScriptedTarget()), method="ar").metrics
    assert (metrics.drafted, metrics.accepted) == (0, 0)
    assert metrics.rounds == metrics.output_tokens - 1
    assert metrics.mean_accepted == 1.0


def test_a_hint_of_the_whole_call_saves_rounds_and_names_itself_as_the_source() -> None:
    sidecar = StubSidecar()
    sidecar.at_launch = HINT
    engine = engine_of(ScriptedTarget(), sidecar)
    hinted = served(engine, method="hint")
    unhinted = served(engine, method="schema")
    assert hinted.tokens == unhinted.tokens
    assert hinted.metrics.rounds < unhinted.metrics.rounds
    assert "hint" in hinted.sources


def test_the_method_of_the_engine_is_the_default() -> None:
    assert served(engine_of(ScriptedTarget(), method="pld")).method == "pld"


def test_an_unknown_method_is_refused_by_name() -> None:
    with pytest.raises(OospecError, match="'guess' is neither a method"):
        served(engine_of(ScriptedTarget()), method="schema+guess")


def test_a_method_that_takes_hints_is_refused_without_a_sidecar() -> None:
    for method in ("oospec", "schema+hint"):
        with pytest.raises(OospecError, match="no sidecar is loaded"):
            served(engine_of(ScriptedTarget()), method=method)


def test_a_method_without_hints_launches_no_wave() -> None:
    sidecar = StubSidecar()
    for method in PLAIN:
        served(engine_of(ScriptedTarget(), sidecar), method=method)
    assert sidecar.launched == []


def test_a_prompt_that_fills_the_context_is_refused_before_the_target_sees_it() -> None:
    target = ScriptedTarget(context=6)
    with pytest.raises(OospecError, match="its prompt has 6 tokens and the target's context is 6"):
        served(engine_of(target, method="ar"))
    assert target.prompts == []


@pytest.mark.parametrize("method", ["ar", "schema+history"])
def test_an_output_that_the_context_cuts_off_finishes_with_length(method: str) -> None:
    completion = served(engine_of(ScriptedTarget(context=26)), method=method)
    assert completion.finish == "length"
    assert completion.tokens == tuple(map(ord, CALL[:20]))


def test_max_new_tokens_cuts_the_output_off_and_nothing_after_it_is_counted() -> None:
    sidecar = StubSidecar()
    sidecar.at_launch = HINT
    completion = served(engine_of(ScriptedTarget(), sidecar), ask(max_new_tokens=30))
    assert completion.finish == "length"
    assert completion.tokens == tuple(map(ord, CALL[:30]))
    assert completion.metrics.output_tokens == 30
    assert completion.metrics.mean_accepted == 29 / completion.metrics.rounds


def test_one_token_is_one_prefill_and_no_round() -> None:
    completion = served(engine_of(ScriptedTarget(), method="ar"), ask(max_new_tokens=1))
    assert completion.tokens == (ord(CALL[0]),)
    assert completion.metrics.rounds == 0
    assert completion.metrics.mean_accepted == 0.0


def test_a_stop_string_ends_the_output() -> None:
    completion = served(engine_of(ScriptedTarget(), method="toolspec"), ask(stop=("days",)))
    assert completion.finish == "stop"
    assert completion.text.endswith('"days')


# --- stream


@pytest.mark.parametrize("method", METHODS)
def test_the_chunks_of_a_stream_add_up_to_its_completion_and_one_finishes_it(method: str, run: Run) -> None:
    sidecar = StubSidecar()
    sidecar.at_launch = HINT
    engine = engine_of(ScriptedTarget(), sidecar, executor=YieldingExecutor(), method=method)
    chunks, completion = run(chunks_of(engine, ask()))
    assert sum((chunk.tokens for chunk in chunks), ()) == completion.tokens
    assert sum((chunk.sources for chunk in chunks), ()) == completion.sources
    assert "".join(piece for chunk in chunks for piece in chunk.pieces) == completion.text
    assert [chunk.finish for chunk in chunks] == [None] * (len(chunks) - 1) + [completion.finish]
    assert len(chunks) == completion.metrics.rounds + 1


def test_a_stream_yields_a_chunk_before_the_next_round_ends(run: Run) -> None:
    target = ScriptedTarget()
    engine = engine_of(target, executor=YieldingExecutor(), method="ar")

    async def rounds_at_chunks() -> list[int]:
        return [target.rounds async for item in engine.stream(ask()) if isinstance(item, Chunk)]

    seen = run(rounds_at_chunks())
    assert all(rounds - number <= 1 for number, rounds in enumerate(seen))


@pytest.mark.parametrize("closing", [True, False], ids=["closed", "dropped"])
def test_breaking_out_of_a_stream_cancels_its_wave_and_frees_the_engine(closing: bool, run: Run) -> None:
    target, sidecar = ScriptedTarget(), StubSidecar()
    engine = engine_of(target, sidecar, executor=YieldingExecutor())

    async def break_out() -> None:
        stream = engine.stream(ask())
        async for _ in stream:
            break
        if closing:
            await stream.aclose()
            assert sidecar.cancelled == sidecar.launched
        del stream
        assert (await engine.generate(ask())).text == CALL

    run(break_out())
    assert sidecar.cancelled == sidecar.launched
    assert len(sidecar.launched) == 2


def test_a_stream_raises_what_its_request_raises(run: Run) -> None:
    async def stream(engine: Engine, method: str) -> None:
        async for _ in engine.stream(ask(), method):
            pass

    with pytest.raises(OospecError, match="no sidecar"):
        run(stream(engine_of(ScriptedTarget()), "oospec"))


def test_a_consumer_cancelled_in_mid_stream_leaves_the_engine_usable(run: Run) -> None:
    sidecar = StubSidecar()
    engine = engine_of(ScriptedTarget(), sidecar, executor=YieldingExecutor())

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


# --- one at a time


@pytest.mark.parametrize("method", ["ar", "oospec"])
def test_requests_made_at_once_are_served_one_at_a_time_and_in_order(method: str, run: Run) -> None:
    cities = [f"City{n}" for n in range(5)]
    target, sidecar = ScriptedTarget({city: call(city) for city in cities}), StubSidecar()
    engine = engine_of(target, sidecar, executor=YieldingExecutor(), method=method)

    async def all_at_once() -> list[Completion]:
        return await asyncio.gather(*(engine.generate(ask(city)) for city in cities))

    completions = run(all_at_once())
    assert [c.text for c in completions] == [call(city) for city in cities]
    assert target.prompts == cities
    steps = [event for event in engine.recorder.events if event.track == "target"]
    assert [e.request for e in steps if e.name == "prefill"] == cities
    assert sidecar.cancelled == sidecar.launched


def test_each_request_gets_hints_for_itself_alone(run: Run) -> None:
    target, sidecar = ScriptedTarget({"Paris?": call("Paris"), "Rome?": call("Rome")}), StubSidecar()
    engine = engine_of(target, sidecar, method="hint")
    stale = Hint((CallHint("get_weather", {"city": "Paris", "days": 3}),))
    target.before_verify = lambda round_: sidecar.publish(stale, Address(1))
    first = served(engine, ask("Paris?"))
    second = served(engine, ask("Rome?"))
    assert first.metrics.hint.versions > 0
    assert second.metrics.hint.versions == 0
    assert sidecar.reader.rejected > 0


def test_a_request_cancelled_at_any_step_frees_the_engine_and_its_wave(run: Run) -> None:
    for steps in range(12):
        sidecar = StubSidecar()
        engine = engine_of(ScriptedTarget(), sidecar, executor=YieldingExecutor())

        async def cancel_after(steps: int = steps, engine: Engine = engine) -> str:
            task = asyncio.create_task(engine.generate(ask()))
            for _ in range(steps):
                await asyncio.sleep(0)
            assert not task.done()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            return (await engine.generate(ask())).text

        assert run(cancel_after()) == CALL, f"cancelled after {steps} steps"
        assert sidecar.cancelled == sidecar.launched


def test_a_request_cancelled_while_it_waits_for_its_turn_is_not_served(run: Run) -> None:
    target = ScriptedTarget({"a": CALL, "b": CALL, "c": CALL})
    engine = engine_of(target, executor=YieldingExecutor(), method="ar")

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
    engine = engine_of(target, executor=executor, method="ar")

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


@pytest.mark.parametrize("where", ["prefill", "first verify", "later verify"])
def test_a_target_that_raises_fails_that_request_alone_and_the_next_is_served(where: str, run: Run) -> None:
    target, sidecar = ScriptedTarget(), StubSidecar()
    engine = engine_of(target, sidecar)

    def fail(round_: int = 0) -> None:
        if round_ == {"prefill": 0, "first verify": 1, "later verify": 3}[where]:
            raise MemoryError("out of memory")

    target.before_verify = fail
    if where == "prefill":
        target.before_prefill = fail

    async def fail_then_serve() -> str:
        with pytest.raises(OospecError, match=r"request .Paris.*: the target.s device is out of memory"):
            await engine.generate(ask())
        target.before_verify, target.before_prefill = lambda round_: None, lambda: None
        return (await engine.generate(ask())).text

    assert run(fail_then_serve()) == CALL
    assert sidecar.cancelled == sidecar.launched


def test_a_sidecar_whose_wave_raises_changes_nothing(run: Run) -> None:
    class Broken(StubSidecar):
        async def wave(self, address: Address, request: Request, *, reuse: bool = False) -> WaveReport | None:
            raise RuntimeError("against the contract")

    completion = run(engine_of(ScriptedTarget(), Broken()).generate(ask()))
    assert completion.text == CALL
    assert completion.metrics.hint.wave_seconds is None


# --- memory


def test_a_method_learns_from_its_own_earlier_outputs() -> None:
    engine = engine_of(ScriptedTarget())
    cold = served(engine, method="history")
    warm = served(engine, method="history")
    assert warm.metrics.rounds < cold.metrics.rounds
    assert "history" in warm.sources
    assert "history" not in cold.sources


def test_methods_keep_memories_apart_even_where_they_share_drafters() -> None:
    engine = engine_of(ScriptedTarget())
    served(engine, method="history")
    other = served(engine, method="history+lookup")
    alone = served(engine_of(ScriptedTarget()), method="history+lookup")
    assert other.sources == alone.sources


def test_forget_makes_the_next_request_cold() -> None:
    engine = engine_of(ScriptedTarget())
    cold = served(engine, method="toolspec")
    warm = served(engine, method="toolspec")
    engine.forget()
    again = served(engine, method="toolspec")
    assert (again.sources, again.metrics.rounds) == (cold.sources, cold.metrics.rounds)
    assert warm.metrics.rounds < cold.metrics.rounds


def test_a_request_that_failed_teaches_nothing() -> None:
    target = ScriptedTarget()
    engine = engine_of(target)

    def fail(round_: int) -> None:
        if round_ == 40:
            raise MemoryError

    target.before_verify = fail
    with pytest.raises(OospecError):
        served(engine, method="history")
    target.before_verify = lambda round_: None
    assert "history" not in served(engine, method="history").sources


# --- hints and metrics


def test_a_hint_published_in_a_round_is_taken_by_the_next_one_and_its_position_is_told() -> None:
    target, sidecar = ScriptedTarget(), StubSidecar()
    second = Hint((CallHint("get_weather", {"city": "Paris", "days": 3}),), version=2)

    def publish(round_: int) -> None:
        if round_ in (3, 5):
            sidecar.publish(Hint((CallHint("get_weather"),)) if round_ == 3 else second)

    target.before_verify = publish
    engine = engine_of(target, sidecar, method="hint")
    metrics = served(engine).metrics
    assert metrics.hint.versions == 2
    assert metrics.hint.arrival_position == 4  # one token of the prefill, three of three rounds
    assert metrics.hint.payload_bytes == len(encode_hint(second))
    assert metrics.hint.arrival_seconds is not None
    assert 0 < metrics.hint.arrival_seconds <= metrics.total_seconds
    polls = [e for e in engine.recorder.events if (e.track, e.name) == ("channel", "poll")]
    assert polls[0].data["version"] == 1
    assert polls[0].data["position"] == 4
    assert [e.data["version"] for e in polls] == [1, 2]


def test_without_a_hint_nothing_is_said_of_one() -> None:
    hint = served(engine_of(ScriptedTarget(), StubSidecar())).metrics.hint
    assert hint.versions == hint.payload_bytes == 0
    assert hint.arrival_seconds is hint.arrival_position is hint.wave_seconds is hint.wave_hidden is None


def test_counts_add_up() -> None:
    target, sidecar = ScriptedTarget(), StubSidecar()
    sidecar.at_launch = HINT
    completion = served(engine_of(target, sidecar))
    metrics = completion.metrics
    assert metrics.rounds == target.rounds
    assert metrics.output_tokens == len(completion.tokens) == 1 + metrics.rounds + metrics.accepted
    assert metrics.accepted == sum(source != "" for source in completion.sources) <= metrics.drafted
    assert metrics.prompt_tokens == len("Paris?")
    assert metrics.mean_accepted == (metrics.output_tokens - 1) / metrics.rounds
    assert 0 < metrics.prefill_seconds <= metrics.first_token_seconds <= metrics.total_seconds
    assert metrics.decode_seconds == pytest.approx(metrics.total_seconds - metrics.first_token_seconds)


def test_a_wave_that_ended_in_time_is_reported_with_its_hidden_share() -> None:
    target, sidecar = ScriptedTarget(), StubSidecar()
    sidecar.ends = True

    class Ends(StubSidecar):
        async def wave(self, address: Address, request: Request, *, reuse: bool = False) -> WaveReport | None:
            start = time.monotonic_ns()
            event = Event("sidecar", "prefill", start, start + 1, request.id, "", {"tokens": 5})
            return WaveReport(start, start + 1, False, (event,))

    engine = engine_of(target, Ends())
    hint = served(engine).metrics.hint
    assert hint.wave_seconds == 1e-9
    assert hint.wave_hidden == pytest.approx(1.0)
    (event,) = [e for e in engine.recorder.events if e.track == "sidecar"]
    assert (event.request, event.method, event.data) == ("Paris?", "oospec", {"tokens": 5})


@pytest.mark.parametrize(
    ("start", "end", "hidden"),
    [(0, 1 << 62, None), (1 << 61, 1 << 62, 0.0), (0, 1, 0.0), (5, 5, 1.0)],
    ids=["longer than the decode", "after it", "before it", "no time at all"],
)
def test_the_hidden_share_of_a_wave_is_a_share(start: int, end: int, hidden: float | None) -> None:
    sidecar = StubSidecar()
    sidecar.ends, sidecar.report = True, WaveReport(start, end, False)
    found = served(engine_of(ScriptedTarget(), sidecar)).metrics.hint.wave_hidden
    assert found is not None
    assert 0.0 <= found <= 1.0
    assert hidden is None or found == hidden


@pytest.mark.parametrize("report", [None, WaveReport(1, 2, True), WaveReport(1, 2, False, (), "failed")])
def test_a_wave_that_failed_or_was_cancelled_has_no_duration(report: WaveReport | None) -> None:
    sidecar = StubSidecar()
    sidecar.ends, sidecar.report = True, report
    hint = served(engine_of(ScriptedTarget(), sidecar)).metrics.hint
    assert hint.wave_seconds is hint.wave_hidden is None


def test_an_engine_that_finishes_waves_waits_for_the_report_and_one_that_does_not_cancels_the_wave(run: Run) -> None:
    class Slow(StubSidecar):
        async def wave(self, address: Address, request: Request, *, reuse: bool = False) -> WaveReport | None:
            self.launched.append(address)
            try:
                for _ in range(500):  # longer than the decode, which takes a turn of the loop per round
                    await asyncio.sleep(0)
            except asyncio.CancelledError:
                self.cancelled.append(address)
                raise
            return WaveReport(1, 2, False)

    for finish in (True, False):
        sidecar = Slow()
        engine = engine_of(ScriptedTarget(), sidecar, executor=YieldingExecutor(), finish_waves=finish)
        completion = run(engine.generate(ask()))
        assert (completion.metrics.hint.wave_seconds is not None) is finish
        assert bool(sidecar.cancelled) is not finish


def test_two_requests_with_one_id_or_none_are_served_apart(run: Run) -> None:
    target = ScriptedTarget({"a": call("A"), "b": call("B")})
    engine = engine_of(target, StubSidecar())

    async def both() -> tuple[Any, ...]:
        return await asyncio.gather(engine.generate(ask("a", id="")), engine.generate(ask("b", id="")))

    assert [c.text for c in run(both())] == [call("A"), call("B")]


def test_a_request_without_tools_is_served() -> None:
    request = Request(messages=(Message(role="user", content="Hello"),))
    sidecar = StubSidecar()
    sidecar.at_launch = HINT
    completion = served(engine_of(ScriptedTarget("Good day."), sidecar), request)
    assert (completion.text, completion.calls) == ("Good day.", ())


def test_a_call_within_the_think_block_that_the_prompt_opened_is_no_call(run: Run) -> None:
    engine = engine_of(ScriptedTarget(f"perhaps {call('Rome')}</think>\n{call('Paris')}"))
    completion = run(engine.generate(ask("Paris?<think>\n"), "toolspec"))
    assert [c.arguments["city"] for c in completion.calls] == ["Paris"]


def test_a_wave_that_failed_says_why() -> None:
    sidecar = StubSidecar()
    sidecar.ends, sidecar.report = True, WaveReport(0, 1, cancelled=False, error="OospecError: too long")
    completion = asyncio.run(engine_of(ScriptedTarget(), sidecar).generate(ask()))
    assert completion.metrics.hint.error == "OospecError: too long"


def test_an_engine_that_is_not_asked_to_record_keeps_no_events(run: Run) -> None:
    recorded = engine_of(ScriptedTarget())
    engine = Engine(dataclasses.replace(recorded.parts, record=False))
    for each in (recorded, engine):
        run(each.generate(ask(), "ar"))
    assert recorded.recorder.events
    assert not engine.recorder.events
