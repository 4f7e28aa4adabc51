"""Traces hold what the recorder saw, and no texts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from oospec_async.completion import Completion, HintUse, Metrics
from oospec_async.decoding.tree import VerifyCurve
from oospec_async.errors import OospecError
from oospec_async.provenance import Setup
from oospec_async.record import make_trace
from oospec_async.request import Request
from oospec_async.runtime.recorder import Event
from oospec_async.trace import ModelInfo, Trace, write_trace

INFO = ModelInfo(name="m", source="directory", weights_sha256="0" * 64, dtype="float32", device="cpu")
SETUP = Setup(INFO, INFO, VerifyCurve(((1, 0.1), (8, 0.2))))
ASKED = Request(
    id="r",
    messages=({"role": "user", "content": "a secret text"},),
    tools=({"name": "f", "parameters": {"properties": {"x": {}, "y": {}}}},),
)


def event(track: str, name: str, start: float, end: float, request: str = "r", **data: object) -> Event:
    return Event(track, name, int(start * 1e9), int(end * 1e9), request, "oospec", data)  # type: ignore[arg-type]


EVENTS = [
    event("target", "prefill", 10.0, 11.0, tokens=20),
    event("sidecar", "prefill", 10.0, 10.2, tokens=15),
    event("sidecar", "step", 10.2, 10.3, branches=2),
    event("channel", "publish", 10.3, 10.3, version=1, bytes=9, ready=1),
    event("target", "verify", 11.1, 11.2, tokens=1, accepted=0, committed=1, sources=[""], position=1),
    event("channel", "poll", 11.25, 11.25, version=1, position=2, ready=1, bytes=9, published_ns=int(10.3e9)),
    event("target", "verify", 11.3, 11.5, tokens=5, accepted=3, committed=4, sources=["hint"] * 3 + [""], position=2),
    event("target", "verify", 20.0, 20.1, request="unfinished", tokens=1, accepted=0, committed=1, position=1),
]


def trace() -> Trace:
    metrics = Metrics(20, 6, 2, 4, 3, 1.5, 1.0, 1.0, 0.5, HintUse(1, payload_bytes=9))
    done = Completion("r", "oospec", "a secret text", (1,) * 6, ("",) * 6, (1.0,) * 6, (), "stop", metrics)
    return make_trace(SETUP, EVENTS, [ASKED], [done])


def test_rounds_count_from_the_start_of_the_prefill_and_know_the_hint_that_they_used() -> None:
    (run,) = trace().requests
    assert [(round(r.start, 3), r.hint_version, r.committed) for r in run.rounds] == [(1.1, 0, 1), (1.3, 1, 4)]
    assert (run.slots, run.functions, run.payload_bytes) == (2, 1, 9)
    assert run.publishes[0].seconds == pytest.approx(0.3)


def test_a_hint_of_a_sidecar_that_failed_before_its_report_is_in_the_trace() -> None:
    heard_of = [event for event in EVENTS if event.name != "publish"]
    metrics = Metrics(20, 6, 2, 4, 3, 1.5, 1.0, 1.0, 0.5)
    done = Completion("r", "oospec", "", (1,) * 6, ("",) * 6, (1.0,) * 6, (), "stop", metrics)
    (run,) = make_trace(SETUP, heard_of, [ASKED], [done]).requests
    assert [(p.version, p.bytes, round(p.seconds, 3)) for p in run.publishes] == [(1, 9, 0.3)]


def test_host_time_is_the_gap_between_forwards_of_the_target() -> None:
    assert [round(sample.seconds, 3) for sample in trace().timing.host] == [0.1, 0.1]


def test_the_context_of_a_verification_are_the_rows_before_its_root() -> None:
    assert [(s.tokens, s.context) for s in trace().timing.target_verify] == [(1, 20), (5, 21)]


def test_a_trace_holds_no_texts_and_no_unfinished_requests(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    write_trace(trace(), path)
    text = path.read_text()
    assert "secret" not in text
    assert "unfinished" not in text
    assert Trace.model_validate(json.loads(text)) == trace().model_copy(
        update={"provenance": Trace.model_validate(json.loads(text)).provenance}
    )


def test_a_trace_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(OospecError, match="trace"):
        write_trace(trace(), tmp_path / "missing" / "t.json")
    assert list(tmp_path.iterdir()) == []
