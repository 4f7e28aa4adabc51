"""What must hold of every replay, whatever the scenario; and the timeline of a split by a plain loop, without SimPy."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from hypothesis import strategies as st

from helpers.sim_traces import random_requests, simulator_of
from sim.replay.replay import Replay, Served
from sim.replay.timetable import Timetable
from sim.scenario.methods import DEFAULT_METHODS
from sim.scenario.scenario import Scenario, scenario_of

PLACEMENTS = ("split", "shared", "shared-fair", "fraction:share=0.3", "tensor-parallel:ways=2")


@st.composite
def simulated(draw: st.DrawFn, **given: object) -> Replay:
    """The replay of made-up requests under any scenario; ``given``: fields of it that are settled."""
    seed, targets = draw(st.integers(0, 10**6)), draw(st.integers(1, 4))
    values = {
        "method": draw(st.sampled_from((*DEFAULT_METHODS, "oospec@never"))),
        "placement": draw(st.sampled_from(PLACEMENTS)),
        "load": draw(st.sampled_from(("closed", "poisson:rate=2", "poisson:rate=50", "recorded"))),
        "targets": targets,
        "scale_sidecar": draw(st.sampled_from((0.05, 1.0, 8.0, float("inf")))),
        "link_latency": draw(st.sampled_from((None, 0.0, 0.0007, 0.05, 10.0))),
        "link_bandwidth": draw(st.sampled_from((None, 1e3, 1e9))),
        "jitter": draw(st.booleans()),
        "seed": seed,
    } | given
    sidecars = draw(st.integers(1, 4)) if "shared" not in str(values["placement"]) else targets
    simulator = simulator_of(random_requests(6, seed), noise=0.3, seed=seed)
    return simulator.replay(scenario_of({**values, "sidecars": sidecars}))


def check_causality(served: Served) -> None:
    """No round uses a hint before it was published plus the link, and none misses one that was there at its poll."""
    readable = {v: at for v, _, at in served.wave.publishes} if served.wave is not None else {}
    for version, published, arrives in served.wave.publishes if served.wave is not None else ():
        assert published <= arrives, version
    ends = [served.prefill[1], *(round_.end for round_ in served.rounds)]
    for round_, before in zip(served.rounds, ends, strict=False):
        poll = before + served.timetable.commit_ns[round_.position - 1]
        there = [version for version, at in readable.items() if at <= poll] if served.timetable.listens else []
        assert round_.version == max([served.timetable.version, *there])
        assert round_.start >= poll + served.timetable.draft_ns[round_.position - 1]


def check_conservation(served: Served) -> None:
    """Each token is committed once, as the profile says, and time never runs backwards."""
    position = 1
    for round_ in served.rounds:
        rounds = served.timetable.rounds[round_.version]
        assert round_.position == position
        assert round_.committed == min(rounds.accepted[position - 1] + 1, served.timetable.output - position)
        assert round_.tokens == rounds.tokens[position - 1]
        position += round_.committed
    assert position == served.timetable.output
    spans = [served.prefill, *((r.start, r.end) for r in served.rounds)]
    assert served.arrival <= served.start <= served.prefill[0]
    assert all(begin < end for begin, end in spans)
    assert all(before[1] <= after[0] for before, after in pairwise(spans))
    assert served.prefill[1] <= served.first_token <= served.end
    assert served.end >= spans[-1][1]


def check_devices(replay: Replay, *, at_once: bool) -> None:
    """A device never does two things at once; where its models run ``at_once``, no model does."""
    work: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for served in replay.served:
        mine = work.setdefault((served.target, "target" if at_once else ""), [])
        mine += [served.prefill, *((r.start, r.end) for r in served.rounds)]
        if served.wave is not None and served.wave.sidecar:
            work.setdefault((served.wave.sidecar, "sidecar" if at_once else ""), []).extend(served.wave.spans)
    assert {name for name, _ in work} <= {device.name for device in replay.devices.all}
    for name, spans in work.items():
        assert all(before[1] <= after[0] for before, after in pairwise(sorted(spans))), name


def by_hand(timetables: Sequence[Timetable], scenario: Scenario) -> list[int]:
    """Ends of requests, one after another, on a split with one target and one sidecar; in ns."""
    law = scenario.placement.layout().sidecar.faster(scenario.scale_sidecar)
    now, sidecar_free, ends = 0, 0, []
    for timetable in timetables:
        hints = []  # readable, version
        starts: list[int] = []  # of the wave's forwards
        if timetable.wave is not None:
            at = max(now + max(0, timetable.before_ns + timetable.wave.start_ns), sidecar_free)
            for forward in timetable.wave.forwards:
                starts.append(at)
                at += law(forward.ns)
                if forward.publishes:
                    sent = scenario.link.delay_ns(timetable.hints[forward.publishes].bytes, timetable.link_ns)
                    hints.append((max([at + sent, *(t for t, _ in hints)]), forward.publishes))
            starts.append(at)
        end = now + timetable.before_ns + timetable.prefill_ns
        position, version = 1, timetable.version
        while True:
            now = end + timetable.commit_ns[position - 1]
            if position == timetable.output:
                break
            if timetable.listens:
                version = max([version, *(v for t, v in hints if t <= now)])
            rounds = timetable.rounds[version]
            end = now + timetable.draft_ns[position - 1] + rounds.verify_ns[position - 1]
            position += min(rounds.accepted[position - 1] + 1, timetable.output - position)
        if starts and starts[0] < now:
            # A wave that is cut off ends its current forward.
            sidecar_free = next((later for at, later in pairwise(starts) if at <= now <= later), starts[-1])
        ends.append(now)
    return ends
