"""Traces hold what the recorder saw, and no texts."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from pathlib import Path

import pytest

from helpers.recorded import Case, serve
from helpers.stubs import CALL, HINT, WEATHER, ask, call
from oospec_async.completion import Completion, HintUse, Metrics
from oospec_async.decoding.tree import VerifyCurve
from oospec_async.events import Event, WaveReport
from oospec_async.hints import CallHint, Hint, encode_hint
from oospec_async.recording.assemble import make_trace
from oospec_async.recording.profile import Decode
from oospec_async.recording.provenance import Setup
from oospec_async.recording.recorder import Recorder
from oospec_async.request import Request
from oospec_async.runtime.engine import Engine
from oospec_async.sidecar.channel import Address
from oospec_async.testing import ScriptedSidecar, ScriptedTarget, scripted_engine
from oospec_async.trace import ModelInfo, Trace, check_trace, read_trace, write_trace

INFO = ModelInfo(name="m", source="directory", weights_sha256="0" * 64, dtype="float32", device="cpu")
SETUP = Setup(INFO, INFO, VerifyCurve(((1, 0.1), (8, 0.2))))
ASKED = Request(id="r", messages=({"role": "user", "content": "a secret text"},), tools=(WEATHER,))
CITY, BOTH = {"city": "Paris"}, {"city": "Paris", "days": 3}
HINTS = (Hint((CallHint("get_weather", CITY),), 1), Hint((CallHint("get_weather", BOTH),), 2))


def event(track: str, name: str, start: float, end: float, request: str = "r", **data: object) -> Event:
    return Event(track, name, int(start * 1e9), int(end * 1e9), request, "oospec", data)  # type: ignore[arg-type]


EVENTS = [
    event("target", "prefill", 10.0, 11.0, tokens=20),
    event("sidecar", "prefill", 10.0, 10.2, tokens=15, branches=0, context=0),
    event("sidecar", "step", 10.2, 10.3, branches=2, tokens=9, context=15),
    event("channel", "publish", 10.3, 10.3, version=1, bytes=9, ready=1),
    event("sidecar", "step", 10.3, 10.5, branches=1, tokens=1, context=24),
    event("channel", "publish", 10.5, 10.5, version=2, bytes=20, ready=2),
    event("target", "verify", 11.1, 11.2, tokens=1, accepted=0, committed=1, sources=[""], position=1),
    event("channel", "poll", 11.25, 11.25, version=1, position=2, ready=1, bytes=9, published_ns=int(10.3e9)),
    event("target", "verify", 11.3, 11.5, tokens=5, accepted=3, committed=4, sources=["hint"] * 3 + [""], position=2),
    event("target", "verify", 20.0, 20.1, request="unfinished", tokens=1, accepted=0, committed=1, position=1),
]
DONE = Completion(
    "r", "oospec", "a secret text", (1,) * 6, ("",) * 6, (1.0,) * 6, (), "stop",
    Metrics(20, 6, 2, 4, 3, 1.5, 1.0, 1.0, 0.5, HintUse(1, payload_bytes=9)),
)  # fmt: skip


def recorder(events: list[Event] = EVENTS, hints: tuple[Hint, ...] = HINTS) -> Recorder:
    (served,) = serve([Case("r", "hello")], "ar").recorder.served
    made = Recorder(keep=True)
    log = made.begin("r", "oospec", int(8e9), int(9.5e9))
    log.events, log.hints, log.decode = list(events), hints, served.decode
    return made


def trace(events: list[Event] = EVENTS, hints: tuple[Hint, ...] = HINTS) -> Trace:
    return make_trace(SETUP, recorder(events, hints), [ASKED], [DONE])


def test_a_trace_tells_of_rounds_hints_and_the_wave_in_times_since_the_start_of_the_prefill() -> None:
    (run,) = trace().requests
    assert (run.slots, run.functions, run.payload_bytes) == (2, 1, 20)
    assert [(round(r.start, 3), r.hint_version, r.committed) for r in run.rounds] == [(1.1, 0, 1), (1.3, 1, 4)]
    assert [(round(p.seconds, 3), p.version, p.ready) for p in run.publishes] == [(0.3, 1, 1), (0.5, 2, 2)]
    assert run.wave is not None
    assert run.wave.start == 0.0
    assert [(s.kind, s.tokens, s.branches, s.context, s.publishes, round(s.seconds, 3)) for s in run.wave.steps] == [
        ("prefill", 15, 0, 0, None, 0.2),
        ("step", 9, 2, 15, 1, 0.1),
        ("step", 1, 1, 24, 2, 0.2),
    ]
    # One for every published version, polled or not.
    assert [(profile.version, len(profile.drafted)) for profile in run.profiles] == [(0, 5), (1, 5), (2, 5)]


def test_a_trace_tells_what_every_forward_took_and_the_host_between_two_of_the_target() -> None:
    timing = trace().timing
    # The context of a verification are the rows before its root.
    assert [(s.tokens, s.context, round(s.seconds, 3)) for s in timing.target_verify] == [(1, 20, 0.1), (5, 21, 0.2)]
    assert [(s.tokens, s.seconds) for s in timing.target_prefill] == [(20, 1.0)]
    assert [(s.tokens, round(s.seconds, 3)) for s in timing.sidecar_prefill] == [(15, 0.2)]
    assert [(s.branches, s.tokens, s.context) for s in timing.sidecar_step] == [(2, 9, 15), (1, 1, 24)]
    assert [round(sample.seconds, 3) for sample in timing.host] == [0.1, 0.1]
    assert [sample.bytes for sample in timing.link] == [len(encode_hint(hint)) for hint in HINTS]
    assert all(0 < sample.seconds < 10 for sample in timing.link)


def test_arrivals_count_from_the_first_one_and_waiting_for_a_turn_is_not_in_before() -> None:
    made = recorder()
    made.logs.append(replace(made.logs[0], request="unfinished", events=[], arrival_ns=int(7e9), start_ns=int(7e9)))
    (run,) = make_trace(SETUP, made, [ASKED], [DONE]).requests
    assert (run.arrival, run.before) == (1.0, 0.5)


def test_a_version_of_which_nobody_knows_the_hint_is_left_out() -> None:
    (run,) = trace(hints=HINTS[:1]).requests
    assert [publish.version for publish in run.publishes] == [1]
    assert run.wave is not None
    assert [step.publishes for step in run.wave.steps] == [None, 1, None]


def test_a_hint_of_a_sidecar_that_failed_before_its_report_is_in_the_trace() -> None:
    heard_of = [event for event in EVENTS if event.track != "sidecar" and event.name != "publish"]
    (run,) = trace(heard_of, HINTS[:1]).requests
    assert [(p.version, p.bytes, round(p.seconds, 3)) for p in run.publishes] == [(1, 9, 0.3)]
    assert run.wave is None


def test_a_hint_from_before_the_prefill_counts_as_published_with_it() -> None:
    early = event("channel", "poll", 11.05, 11.05, version=1, position=1, ready=1, bytes=9, published_ns=int(9.9e9))
    (run,) = trace([early, *(e for e in EVENTS if e.track == "target")], HINTS[:1]).requests
    assert [publish.seconds for publish in run.publishes] == [0.0]


def test_what_a_sidecar_reports_amiss_is_left_out() -> None:
    lies = [
        event("sidecar", "nap", 10.6, 10.7, tokens=1, branches=1, context=1),
        event("sidecar", "step", 10.7, 10.8, tokens=0, branches=1, context=1),
        event("sidecar", "step", 10.8, 10.9, tokens=1),
        event("channel", "publish", 10.9, 10.9, version=2),
    ]
    assert trace([*EVENTS, *lies]).requests == trace().requests


def test_a_trace_holds_no_texts_and_no_unfinished_requests(tmp_path: Path) -> None:
    made = trace()
    write_trace(made, tmp_path / "t.json")
    text = (tmp_path / "t.json").read_text()
    assert not any(word in text for word in ("secret", "Paris", "unfinished"))
    assert Trace.model_validate_json(text) == made


# --- whole runs of an engine of stubs


def recorded(engine: Engine, cases: list[Case], method: str, path: Path) -> Trace:
    """The trace of a run, written, checked and read again."""
    requests = [ask(case.name) for case in cases]
    done = [
        replace(DONE, request=served.request, method=method, metrics=_metrics(served.decode))
        for served in engine.recorder.served
    ]
    told: list[int] = []
    write_trace(make_trace(SETUP, engine.recorder, requests, done, lambda: told.append(1)), path)
    assert len(told) == len(cases)
    assert check_trace(path) == []
    return read_trace(path)


def _metrics(decoded: Decode) -> Metrics:
    return replace(DONE.metrics, prompt_tokens=len(decoded.setting.prompt), output_tokens=len(decoded.output))


@pytest.mark.parametrize("method", ["ar", "toolspec", "oospec"])
def test_the_trace_of_a_run_is_whole_and_its_rounds_are_those_of_its_profiles(method: str, tmp_path: Path) -> None:
    cases = [
        Case("Paris?", call("Paris"), {0: HINTS[0], 2: HINTS[1]}),
        Case("Rome?", call("Rome", 2), {1: HINT}),
        Case("Nothing?", "No call is needed."),
        Case("One?", "x", max_new_tokens=1),
    ]
    made = recorded(serve(cases, method), cases, method, tmp_path / "t.json")
    assert [request.request for request in made.requests] == [case.name for case in cases]
    assert made.requests[-1].rounds == []
    arrivals = [request.arrival for request in made.requests]
    assert arrivals == sorted(arrivals)
    versions = [[profile.version for profile in request.profiles] for request in made.requests]
    assert versions == ([[0, 1, 2], [0, 1], [0], [0]] if method == "oospec" else [[0]] * 4)


def test_hints_that_the_target_never_polled_have_profiles_too(tmp_path: Path) -> None:
    """The second version is published after the last round: only the worker's report knows what was in it."""

    class Reports(ScriptedSidecar):
        async def wave(self, address: Address, request: Request, *, reuse: bool = False) -> WaveReport | None:
            self.launched.append(address)
            await asyncio.sleep(0)
            payloads = tuple((hint.version, encode_hint(hint)) for hint in HINTS)
            later = time.monotonic_ns() + 10**12  # than any round
            events = [
                Event("channel", "publish", later + h.version, later + h.version, request.id, "",
                      {"version": h.version, "bytes": len(encode_hint(h)), "ready": h.ready_slots})
                for h in HINTS
            ]  # fmt: skip
            return WaveReport(later, later + 9, False, tuple(events), payloads=payloads)

    engine = scripted_engine(ScriptedTarget(CALL), Reports(), finish_waves=True)
    asyncio.run(engine.generate(ask("Paris?")))
    made = recorded(engine, [Case("Paris?")], "oospec", tmp_path / "t.json")
    (request,) = made.requests
    assert {round_.hint_version for round_ in request.rounds} == {0}
    plain, first, last = (sum(profile.accepted) for profile in request.profiles)
    assert plain < first < last
