"""Invariant 7, live: a token is committed once; time never runs backwards; a device never does two things at once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import pairwise

import pytest

from helpers.stubs import HINT, YieldingExecutor, ask, call
from oospec_async.completion import Completion
from oospec_async.decoding.drafters import METHODS
from oospec_async.devices import Device
from oospec_async.events import Event
from oospec_async.runtime.executor import Executor, InlineExecutor, ThreadExecutor
from oospec_async.testing import ScriptedDraftModel, ScriptedSidecar, ScriptedTarget, scripted_engine

CITIES = ("Paris", "Köln 🙂", "Rio", "Paris", 'a "quoted" {city}')
TEXTS = [call(city, days) for days, city in enumerate(CITIES)]


@pytest.fixture(params=["inline", "yielding", "thread"])
def executor(request: pytest.FixtureRequest) -> Iterator[Executor]:
    made: dict[str, type[Executor]] = {"inline": InlineExecutor, "yielding": YieldingExecutor}
    chosen = ThreadExecutor(Device("cpu")) if request.param == "thread" else made[request.param]()
    yield chosen
    chosen.close()


@pytest.fixture(params=METHODS)
def recorded(executor: Executor, request: pytest.FixtureRequest) -> tuple[list[Completion], list[Event]]:
    """Requests made at once, one of them cancelled, with hints that arrive in the middle."""
    target = ScriptedTarget({str(n): text for n, text in enumerate(TEXTS)} | {"cancelled": TEXTS[0]})
    sidecar = ScriptedSidecar()
    engine = scripted_engine(
        target, sidecar, executor=executor, draft_model=ScriptedDraftModel(target), method=request.param
    )
    if request.param == "oospec":
        target.before_verify = lambda round_: round_ % 3 == 1 and sidecar.publish(HINT)

    async def serve() -> list[Completion]:
        lost = asyncio.create_task(engine.generate(ask("cancelled")))
        tasks = [asyncio.create_task(engine.generate(ask(str(n)))) for n in range(len(TEXTS))]
        await asyncio.sleep(0)
        lost.cancel()
        return list(await asyncio.gather(*tasks))

    completions = asyncio.run(serve())
    assert [completion.text for completion in completions] == TEXTS
    return completions, engine.recorder.events


def of(events: list[Event], completion: Completion, *names: str) -> list[Event]:
    return [e for e in events if e.request == completion.request and e.name in names]


def test_each_output_token_is_committed_once(recorded: tuple[list[Completion], list[Event]]) -> None:
    completions, events = recorded
    for completion in completions:
        position = 1  # the prefill's token
        for event in of(events, completion, "verify"):
            committed = event.data["committed"]
            assert event.data["position"] == position
            assert event.data["accepted"] == committed - 1
            assert tuple(event.data["sources"]) == completion.sources[position : position + committed]
            position += committed
        assert position == len(completion.tokens) == completion.metrics.output_tokens
        assert sum(e.data["tokens"] for e in of(events, completion, "commit")) == len(completion.tokens)


def test_counts_of_the_events_are_those_of_the_metrics(recorded: tuple[list[Completion], list[Event]]) -> None:
    completions, events = recorded
    for completion in completions:
        metrics, verifies = completion.metrics, of(events, completion, "verify")
        assert len(verifies) == metrics.rounds
        assert sum(e.data["tokens"] - 1 for e in verifies) == metrics.drafted
        assert sum(e.data["tokens"] for e in of(events, completion, "draft")) == metrics.drafted
        assert sum(e.data["accepted"] for e in verifies) == metrics.accepted
        assert [e.data["tokens"] for e in of(events, completion, "prefill")] == [metrics.prompt_tokens]
        assert len(of(events, completion, "poll")) == metrics.hint.versions


def test_time_never_runs_backwards(recorded: tuple[list[Completion], list[Event]]) -> None:
    _, events = recorded
    assert all(0 <= event.start_ns <= event.end_ns for event in events)
    for track in ("target", "host", "channel"):
        ends = [event.end_ns for event in events if event.track == track]
        assert ends == sorted(ends)


def test_a_device_never_does_two_things_at_once(recorded: tuple[list[Completion], list[Event]]) -> None:
    """Nor do target and host at all: a round's steps follow each other, also from a request to the next."""
    _, events = recorded
    steps = sorted((e for e in events if e.track in ("target", "host")), key=lambda e: (e.start_ns, e.end_ns))
    assert all(before.end_ns <= after.start_ns for before, after in pairwise(steps))


def test_a_round_is_draft_then_verify_then_commit(recorded: tuple[list[Completion], list[Event]]) -> None:
    completions, events = recorded
    for completion in completions:
        steps = sorted(of(events, completion, "prefill", "draft", "verify", "commit"), key=lambda e: e.start_ns)
        rounds = ["draft", "verify", "commit"] * completion.metrics.rounds
        assert [e.name for e in steps] == ["prefill", "commit", *rounds]
