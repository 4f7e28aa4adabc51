"""What the engine says of a request: counts, the hints that came, and the wave."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from helpers.stubs import CALL, HINT, Run, YieldingExecutor, ask, served
from oospec_async.decoding.forward import TargetForward
from oospec_async.events import Event, WaveReport
from oospec_async.hints import CallHint, Hint, encode_hint
from oospec_async.request import Request
from oospec_async.sidecar.channel import Address
from oospec_async.testing import ScriptedSidecar, ScriptedTarget, scripted_engine


def test_a_hint_published_in_a_round_is_taken_by_the_next_one_and_its_position_is_told() -> None:
    target, sidecar = ScriptedTarget(CALL), ScriptedSidecar()
    second = Hint((CallHint("get_weather", {"city": "Paris", "days": 3}),), version=2)

    def publish(round_: int) -> None:
        if round_ in (3, 5):
            sidecar.publish(Hint((CallHint("get_weather"),)) if round_ == 3 else second)

    target.before_verify = publish
    engine = scripted_engine(target, sidecar, method="hint")
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
    hint = served(scripted_engine(ScriptedTarget(CALL), ScriptedSidecar())).metrics.hint
    assert hint.versions == hint.payload_bytes == 0
    assert hint.arrival_seconds is hint.arrival_position is hint.wave_seconds is hint.wave_hidden is None


def test_counts_add_up() -> None:
    target, sidecar = ScriptedTarget(CALL), ScriptedSidecar(HINT)
    completion = served(scripted_engine(target, sidecar))
    metrics = completion.metrics
    assert metrics.rounds == target.rounds
    assert metrics.output_tokens == len(completion.tokens) == 1 + metrics.rounds + metrics.accepted
    assert metrics.accepted == sum(source != "" for source in completion.sources) <= metrics.drafted
    assert metrics.prompt_tokens == len("Paris?")
    assert metrics.mean_accepted == (metrics.output_tokens - 1) / metrics.rounds
    assert 0 < metrics.prefill_seconds <= metrics.first_token_seconds <= metrics.total_seconds
    assert metrics.decode_seconds == pytest.approx(metrics.total_seconds - metrics.first_token_seconds)


def test_a_requests_time_holds_what_is_copied_from_its_last_forward() -> None:
    now = 0

    class Margins(list[float]):
        def __getitem__(self, node: Any) -> Any:
            nonlocal now
            now += 1000
            return super().__getitem__(node)

    class Copied(ScriptedTarget):
        def prefill(self, prompt: Sequence[int], *, reuse: bool = False) -> TargetForward:
            return replace(super().prefill(prompt), margins=Margins([1.0]))

    engine = scripted_engine(Copied(CALL), clock=lambda: now)
    assert served(engine, ask(max_new_tokens=1), "ar").metrics.total_seconds == 1e-6


def test_a_wave_that_ended_in_time_is_reported_with_its_hidden_share() -> None:
    class Ends(ScriptedSidecar):
        async def wave(self, address: Address, request: Request, *, reuse: bool = False) -> WaveReport | None:
            start = time.monotonic_ns()
            event = Event("sidecar", "prefill", start, start + 1, request.id, "", {"tokens": 5})
            return WaveReport(start, start + 1, False, (event,))

    engine = scripted_engine(ScriptedTarget(CALL), Ends())
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
    sidecar = ScriptedSidecar(ends=True, report=WaveReport(start, end, False))
    found = served(scripted_engine(ScriptedTarget(CALL), sidecar)).metrics.hint.wave_hidden
    assert found is not None
    assert 0.0 <= found <= 1.0
    assert hidden is None or found == hidden


@pytest.mark.parametrize("report", [None, WaveReport(1, 2, True), WaveReport(1, 2, False, (), "failed")])
def test_a_wave_that_failed_or_was_cancelled_has_no_duration(report: WaveReport | None) -> None:
    sidecar = ScriptedSidecar(ends=True, report=report)
    hint = served(scripted_engine(ScriptedTarget(CALL), sidecar)).metrics.hint
    assert hint.wave_seconds is hint.wave_hidden is None


def test_an_engine_that_finishes_waves_waits_for_the_report_and_one_that_does_not_cancels_the_wave(run: Run) -> None:
    class Slow(ScriptedSidecar):
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
        engine = scripted_engine(ScriptedTarget(CALL), sidecar, executor=YieldingExecutor(), finish_waves=finish)
        completion = run(engine.generate(ask()))
        assert (completion.metrics.hint.wave_seconds is not None) is finish
        assert bool(sidecar.cancelled) is not finish


def test_a_wave_that_failed_says_why() -> None:
    sidecar = ScriptedSidecar(ends=True, report=WaveReport(0, 1, cancelled=False, error="OospecError: too long"))
    completion = asyncio.run(scripted_engine(ScriptedTarget(CALL), sidecar).generate(ask()))
    assert completion.metrics.hint.error == "OospecError: too long"
