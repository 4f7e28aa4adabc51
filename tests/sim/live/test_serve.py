"""The live engine on the virtual clock: what it says of a run, and that nothing is lost on the way."""

from __future__ import annotations

import signal
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.sim_traces import random_requests, request, trace
from helpers.two_engines import METHODS, PLACEMENTS, traces
from oospec_async.errors import OospecError
from oospec_async.hints import decode_hint
from oospec_async.sidecar.channel import MAX_PAYLOAD
from oospec_async.trace import Trace
from sim.costs.recording import Recording
from sim.figures.simulator import Simulator
from sim.live.payload import payload_of, tool_of
from sim.live.serve import VirtualRun, serve
from sim.replay.timetable import Hint, Timetable
from sim.scenario.placement import Layout, parse_placement

SPLIT = parse_placement("split").layout()


def timetables_of(recorded: Trace, method: str = "oospec") -> tuple[Timetable, ...]:
    return Simulator(Recording(recorded)).timetables(method)


def run(recorded: Trace, method: str = "oospec", layout: Layout = SPLIT) -> VirtualRun:
    return serve(timetables_of(recorded, method), method, layout)


@settings(max_examples=60)
@given(traces(), st.sampled_from(METHODS), st.sampled_from(PLACEMENTS))
def test_every_token_is_committed_once_and_by_the_target(recorded: Trace, method: str, placement: str) -> None:
    done = run(recorded, method, parse_placement(placement).layout())
    for completion, timetable in zip(done.completions, timetables_of(recorded, method), strict=True):
        assert completion.tokens == tuple(range(1, timetable.output + 1))
        assert completion.finish == "length"
        assert completion.metrics.output_tokens == timetable.output
        assert completion.metrics.prompt_tokens == timetable.prompt
        assert completion.metrics.accepted + completion.metrics.rounds + 1 == timetable.output
    assert all(event.start_ns <= event.end_ns for event in done.events)


def test_figures_are_those_of_the_virtual_clock() -> None:
    """One request of two rounds without drafts, by hand."""
    recorded = trace([request("r", 3, prompt=100, without=[(0, 0)] * 2, steps=0)])
    (timetable,) = timetables_of(recorded, "ar")
    (completion,) = run(recorded, "ar").completions
    first = timetable.before_ns + timetable.prefill_ns + timetable.commit_ns[0]
    rounds = sum(timetable.draft_ns[:2]) + sum(timetable.rounds[0].verify_ns[:2]) + sum(timetable.commit_ns[1:3])
    assert completion.metrics.first_token_seconds == first / 1e9
    assert completion.metrics.prefill_seconds == timetable.prefill_ns / 1e9
    assert completion.metrics.decode_seconds == rounds / 1e9
    assert completion.metrics.total_seconds == (first + rounds) / 1e9


def test_a_wave_that_ends_in_time_is_reported_and_one_that_does_not_is_cut() -> None:
    quick = run(trace([request("r", 30, without=[(0, 0)] * 29, hinted=[[(1, 0)] * 29], steps=3)]))
    assert quick.completions[0].metrics.hint.wave_seconds == pytest.approx(3 * 0.004)
    assert quick.completions[0].metrics.hint.versions == 1
    assert quick.completions[0].metrics.hint.payload_bytes == 40
    slow = run(trace([request("r", 2, without=[(0, 0)], hinted=[[(0, 0)]], steps=40)]))
    assert slow.completions[0].metrics.hint.wave_seconds is None
    assert 0 < len(slow.waves[0].spans) < 40
    begin, end = slow.waves[0].spans[-1]
    assert begin <= round(slow.completions[0].metrics.total_seconds * 1e9) <= end


def test_a_poll_tells_the_slots_and_bytes_that_were_recorded() -> None:
    done = run(trace([request("r", 30, without=[(0, 0)] * 29, hinted=[[(1, 0)] * 29] * 2, publish_at=[1, 4], steps=6)]))
    polls = [event.data for event in done.events if event.name == "poll"]
    assert [(poll["version"], poll["ready"], poll["bytes"]) for poll in polls] == [(1, 1, 40), (2, 2, 80)]


def test_runs_are_alike_to_the_last_event() -> None:
    recorded = trace(random_requests(6, 2), noise=0.2)
    one, other = run(recorded), run(recorded)
    assert one.events == other.events
    assert one.completions == other.completions


def test_a_method_without_waves_has_the_device_for_itself() -> None:
    recorded = trace(random_requests(3, 2))
    alone = run(recorded, "toolspec")
    assert not alone.waves
    assert run(recorded, "toolspec", parse_placement("fraction:share=0.9").layout()).events == alone.events


def test_a_request_without_a_wave_is_served_beside_others() -> None:
    recorded = trace([*random_requests(2, 1), request("none", 5, hinted=[], steps=0)])
    done = run(recorded)
    assert [wave.timetable.request for wave in done.waves] == ["r0", "r1"]
    assert len(done.completions) == 3


@given(st.integers(0, MAX_PAYLOAD), st.integers(0, 3000))
def test_a_payload_has_the_bytes_and_as_many_of_the_slots_as_fit(size: int, ready: int) -> None:
    payload = payload_of(size, ready)
    assert len(payload) == max(size, len(payload_of(0, 0)))
    hint = decode_hint(payload, 3, [tool_of(ready)])
    assert hint is not None
    assert hint.version == 3
    assert hint.ready_slots <= ready
    if size >= 20 + 8 * ready:
        assert hint.ready_slots == ready


def test_ctrl_c_ends_a_run_at_once() -> None:
    timetables = timetables_of(trace(random_requests(3, 1)))
    served: list[int] = []

    def interrupt() -> None:
        served.append(1)
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        serve(timetables, "oospec", SPLIT, interrupt)
    assert len(served) == 1


def test_a_hint_that_no_channel_takes_is_refused() -> None:
    timetables = timetables_of(trace(random_requests(1, 2)))
    for hint in ({1: Hint(MAX_PAYLOAD + 1, 1)}, {1 << 32: Hint(80, 1)}):
        with pytest.raises(OospecError, match="request 'r0' by oospec"):
            serve([replace(timetables[0], hints=hint)], "oospec", SPLIT)


def test_hints_of_a_method_that_takes_none_are_refused() -> None:
    timetables = timetables_of(trace(random_requests(1, 2)))
    with pytest.raises(OospecError, match="toolspec"):
        serve(timetables, "toolspec", SPLIT)
