"""Invariant 10: the asyncio runtime on a virtual clock and the SimPy model give the same timeline, to the nanosecond.

They share the timetable (what takes how long, and the order of ranks) and no event code. A poll that is off by one, in
either engine, makes the comparison fail: the mutants show it.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path
from weakref import WeakKeyDictionary

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.sim_traces import Made, random_requests, request, trace
from helpers.two_engines import METHODS, NS, PLACEMENTS, simulated, traces, virtual, with_steps
from oospec_async.sidecar.channel import Address, Delivery, HintReader
from oospec_async.trace import Trace
from sim.costs.recording import Recording, open_recording
from sim.figures.simulator import Simulator
from sim.live.clock import VirtualClock
from sim.replay.mailbox import Mailbox
from sim.replay.timetable import Rank
from sim.scenario.placement import parse_placement
from sim.scenario.scenario import Scenario

REAL = Path(__file__).parents[2] / "traces" / "qwen3-14b.json"


def scenario(method: str, placement: str, seed: int | None = None) -> Scenario:
    return Scenario(method=method, placement=parse_placement(placement), jitter=seed is not None, seed=seed or 0)


def compare(recorded: Trace | Recording, one: Scenario) -> None:
    recording = recorded if isinstance(recorded, Recording) else Recording(recorded)
    for theirs, ours in zip(simulated(Simulator(recording), one), virtual(Simulator(recording), one), strict=True):
        assert ours == theirs


@settings(max_examples=200)
@given(traces(), st.sampled_from(METHODS), st.sampled_from(PLACEMENTS))
def test_small_traces_in_which_much_happens_at_once(recorded: Trace, method: str, placement: str) -> None:
    compare(recorded, scenario(method, placement))


@pytest.mark.parametrize("placement", PLACEMENTS)
@pytest.mark.parametrize("method", METHODS)
def test_traces_of_the_usual_shape(method: str, placement: str) -> None:
    compare(trace(random_requests(12, 3), noise=0.3), scenario(method, placement))


@pytest.mark.parametrize("placement", ["split", "shared"])
def test_times_that_scatter(placement: str) -> None:
    recorded = trace(random_requests(8, 5), noise=0.5)
    compare(recorded, scenario("oospec", placement, seed=11))


@pytest.mark.parametrize(("method", "placement"), [*product(METHODS, ["split", "shared"]), ("oospec", "shared-fair")])
def test_the_trace_that_comes_along(method: str, placement: str) -> None:
    compare(open_recording(REAL), scenario(method, placement))


def tie() -> Trace:
    """Polls at 10, 20 and 30 ns; a hint that saves a round can be read at exactly 20 ns."""
    made = Made(10 * NS, 0.0, 0.0, 0.1 * NS, host=0.0, link=5 * NS, before=0.0)
    run = request("r", 5, without=[(0, 0)] * 4, hinted=[[(2, 2), (2, 2), (1, 1), (0, 0)]], publish_at=[1], steps=3)
    return trace([with_steps(run.model_copy(update={"before": 0.0}), 0, [5, 10, 50])], made)


@pytest.mark.parametrize("engine", [simulated, virtual])
def test_at_equal_times_a_publish_comes_before_a_poll(engine: Callable[..., object]) -> None:
    (timeline,) = engine(Simulator(Recording(tie())), scenario("oospec", "split"))  # type: ignore[misc]
    assert timeline.publishes == ((1, 15, 20),)
    assert timeline.polls == ((20, 2, 1),)
    assert timeline.end == 30


def _a_round_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """The virtual engine's reader tells what the poll before would have told."""
    true, kept = HintReader.poll, dict[Address, Delivery | None]()

    def poll(self: HintReader) -> Delivery | None:
        found, kept[self._address] = kept.get(self._address), true(self)
        return found

    monkeypatch.setattr(HintReader, "poll", poll)


def _a_nanosecond_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the virtual engine a poll comes before what happens at the same nanosecond."""
    true = VirtualClock.spend

    def spend(self: VirtualClock, ns: int, then: Rank) -> None:
        true(self, ns, Rank.ENDS if then is Rank.POLL else then)

    monkeypatch.setattr(VirtualClock, "spend", spend)


def _a_simulated_round_late(monkeypatch: pytest.MonkeyPatch) -> None:
    true, kept = Mailbox.poll, WeakKeyDictionary[Mailbox, int]()

    def poll(self: Mailbox, now: int) -> int:
        found, kept[self] = kept.get(self, 0), true(self, now)
        return found

    monkeypatch.setattr(Mailbox, "poll", poll)


def _a_simulated_nanosecond_late(monkeypatch: pytest.MonkeyPatch) -> None:
    true = Mailbox.poll
    monkeypatch.setattr(Mailbox, "poll", lambda self, now: true(self, now - 1))


def _a_nanosecond_early(monkeypatch: pytest.MonkeyPatch) -> None:
    true = Mailbox.poll
    monkeypatch.setattr(Mailbox, "poll", lambda self, now: true(self, now + 1))


MUTANTS = [
    _a_round_late,
    _a_nanosecond_late,
    _a_simulated_round_late,
    _a_simulated_nanosecond_late,
    _a_nanosecond_early,
]


def early() -> Trace:
    """As ``tie``, but the hint can be read a nanosecond after the poll."""
    run = tie().requests[0]
    return tie().model_copy(update={"requests": [with_steps(run, 0, [5, 11, 50])]})


@pytest.mark.parametrize("plant", MUTANTS)
def test_a_poll_that_is_off_by_one_is_found(
    plant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    crafted = [tie(), early()]
    for each in crafted:
        compare(each, scenario("oospec", "split"))
    plant(monkeypatch)
    found = 0
    for each in crafted:
        try:
            compare(each, scenario("oospec", "split"))
        except AssertionError:
            found += 1
    assert found


@pytest.mark.parametrize("plant", [_a_round_late, _a_simulated_round_late])
def test_and_so_it_is_in_the_trace_that_comes_along(
    plant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    with pytest.raises(AssertionError):
        compare(open_recording(REAL), scenario("oospec", "split"))
