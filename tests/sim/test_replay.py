"""Timelines by hand: who waits for whom, and what is cut off."""

from __future__ import annotations

from dataclasses import replace

import pytest

from helpers.sim_checks import check_causality, check_conservation
from helpers.sim_traces import Made, random_requests, request, simulator_of
from sim.replay.mailbox import Mailbox
from sim.replay.replay import Replay
from sim.scenario.link import Link
from sim.scenario.scenario import scenario_of

MS = 1_000_000
# Prefill 10 ms, a verify 10 ms whatever its size, a sidecar forward 4 ms, nothing on the host.
ROUND = Made(
    verify_base=0.01, verify_token=0.0, verify_row=0.0, prefill_token=0.0001, step=0.004, host=0.0, link=0.0, before=0.0
)


def replay(*runs: object, **values: object) -> Replay:
    simulator = simulator_of(list(runs), ROUND)  # type: ignore[arg-type]
    return simulator.replay(scenario_of(values))


def spans_ms(replay: Replay, which: int = 0) -> tuple[list[tuple[float, float]], list[tuple[float, float]]]:
    served = replay.served[which]
    target = [served.prefill, *((r.start, r.end) for r in served.rounds)]
    sidecar = served.wave.spans if served.wave is not None else []
    return [(a / MS, b / MS) for a, b in target], [(a / MS, b / MS) for a, b in sidecar]


def test_on_a_split_both_run_at_once() -> None:
    run = request("r", 3, made=ROUND, steps=3, hinted=[[(0, 0)] * 2], publish_at=(2,))
    target, sidecar = spans_ms(replay(run))
    assert target == [(0, 10), (10, 20), (20, 30)]
    assert sidecar == [(0, 4), (4, 8), (8, 12)]


def test_on_a_shared_device_forwards_take_turns() -> None:
    """The sidecar asks first, at 0, and is behind the target by rank; then each waits for the other."""
    run = request("r", 3, made=ROUND, steps=3, hinted=[[(0, 0)] * 2], publish_at=(2,))
    target, sidecar = spans_ms(replay(run, placement="shared"))
    assert target == [(0, 10), (14, 24), (28, 38)]
    assert sidecar == [(10, 14), (24, 28), (38, 42)]


def test_a_shared_device_can_run_both_at_once_and_slower() -> None:
    run = request("r", 2, made=ROUND, steps=3, hinted=[[(0, 0)]], publish_at=(2,))
    target, sidecar = spans_ms(replay(run, placement="shared-fair"))
    # Half of the device each: 4 ms of work end at 8, then at 16; by 18, 9 of the prefill's 10 ms are done.
    assert sidecar == [(0, 8), (8, 16), (16, 24)]
    assert target == [(0, 20), (20, 32)]


def test_a_wave_is_cut_off_when_its_decode_ends_and_its_forward_is_through() -> None:
    run = request("r", 2, made=ROUND, steps=9, hinted=[[(0, 0)]], publish_at=(8,))
    done = replay(run, request("s", 2, made=ROUND, steps=1))
    assert spans_ms(done)[1] == [(0, 4), (4, 8), (8, 12), (12, 16), (16, 20), (20, 24)]
    assert done.served[0].wave is not None
    assert done.served[0].wave.publishes == []
    assert done.served[1].start == 20 * MS
    assert spans_ms(done, 1)[1] == [(24, 28)]  # behind the forward that could not be stopped


def test_a_recorded_start_delays_the_wave() -> None:
    run = request("r", 2, made=ROUND, steps=2, start=0.003, hinted=[[(0, 0)]], publish_at=(1,))
    assert spans_ms(replay(run))[1] == [(3, 7), (7, 11)]


def test_waves_queue_for_a_sidecar_in_the_order_of_their_launch() -> None:
    runs = [request(f"r{i}", 4, made=ROUND, steps=3, hinted=[[(0, 0)] * 3], publish_at=(2,)) for i in range(3)]
    done = replay(*runs, targets=3, sidecars=1)
    assert [spans_ms(done, i)[1][:1] for i in range(3)] == [[(0, 4)], [(12, 16)], [(24, 28)]]
    assert [served.target for served in done.served] == ["target 0", "target 1", "target 2"]
    waiting = replay(*runs, targets=3, sidecars=1, scale_sidecar=0.2)
    assert [s.wave is not None and s.wave.sidecar for s in waiting.served] == ["sidecar 0", "", ""]
    assert len(waiting.devices.all) == 4


def test_arrivals_queue_for_the_target() -> None:
    runs = [
        request(f"r{i}", 2, made=ROUND, steps=0).model_copy(update={"arrival": at})
        for i, at in enumerate((0.0, 0.005, 0.1))
    ]
    done = replay(*runs, load="recorded", method="ar")
    assert [(s.arrival / MS, s.start / MS, s.end / MS) for s in done.served] == [
        (0, 0, 20),
        (5, 20, 40),
        (100, 100, 120),
    ]


def test_arrivals_out_of_order_are_served_in_the_order_of_time() -> None:
    runs = [
        request(f"r{i}", 2, made=ROUND, steps=0).model_copy(update={"arrival": at}) for i, at in enumerate((0.1, 0.0))
    ]
    done = replay(*runs, load="recorded", method="ar")
    assert [s.start / MS for s in done.served] == [100, 0]


def test_an_output_of_one_token_has_no_rounds() -> None:
    run = request("r", 1, made=ROUND, without=[], hinted=[[]], steps=2)
    (served,) = replay(run).served
    assert served.rounds == []
    assert served.first_token == served.end == 10 * MS


def test_before_a_prefill_there_is_the_host() -> None:
    made = replace(ROUND, before=0.002, host=0.001)
    run = request("r", 2, made=made, steps=0)
    simulator = simulator_of([run], made)
    (served,) = simulator.replay(scenario_of({"method": "ar"})).served
    assert served.prefill == (2 * MS, 12 * MS)
    assert served.rounds[0].start == 13 * MS
    assert served.end - served.rounds[0].end == served.first_token - served.prefill[1] == served.timetable.commit_ns[0]


def test_events_are_linear_in_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a replay costs is what it schedules."""
    from sim.replay.devices import Clock

    counted = []
    schedule = Clock.schedule
    monkeypatch.setattr(Clock, "schedule", lambda *args: (counted.append(1), schedule(*args)))
    one, two = [], []
    for count, found in ((20, one), (200, two)):
        runs = [r for i in range(count // 20) for r in random_requests(20, 1)]
        named = [r.model_copy(update={"request": f"{r.request}/{i}"}) for i, r in enumerate(runs)]
        counted.clear()
        simulator_of(named).replay(scenario_of({"placement": "shared"}))
        found.append(len(counted))
    assert two[0] == pytest.approx(10 * one[0], rel=0.02)


def test_a_mailbox_keeps_the_newest_message_and_their_order() -> None:
    mailbox = Mailbox()
    assert mailbox.poll(10**9) == 0
    assert mailbox.publish(10, 5, 1) == 15
    assert mailbox.publish(12, 0, 2) == 15  # not before the one that was sent earlier
    assert [mailbox.poll(t) for t in (14, 15, 99)] == [0, 2, 2]


def test_a_link_has_latency_and_bandwidth() -> None:
    assert Link().delay_ns(1000, 7) == 7
    assert Link(latency=1e-6).delay_ns(1000, 7) == 1000
    assert Link(latency=0.0, bandwidth=1e9).delay_ns(1000, 7) == 1000


def test_only_hints_were_recorded() -> None:
    """A sidecar that failed before its report: its hints are replayed when they were published."""
    run = request("r", 6, made=ROUND, steps=4, hinted=[[(4, 0)] * 5, [(4, 0)] * 5], publish_at=(1, 3))
    (served,) = replay(run.model_copy(update={"wave": None})).served
    assert served.wave is not None
    assert [(v, at / MS) for v, at, _ in served.wave.publishes] == [(1, 8), (2, 16)]
    check_causality(served)
    check_conservation(served)
