"""Methods of our own engine: those that it names, and any mix of its drafters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from oospec_async.completion import Completion
from oospec_async.decoding.drafters import needs_of
from oospec_async.events import Event
from oospec_async.request import Request
from oospec_async.runtime.engine import Engine
from oospec_async.runtime.parts import Parts
from tools.benchmark.methods.base import Entry, Server
from tools.benchmark.options import Options
from tools.benchmark.rows import HintRow, Measured


def entry(method: str) -> Entry:
    """Raises OospecError for what is neither a method of the engine nor a mix of drafters."""

    def open_(parts: Parts, options: Options) -> Server:
        return EngineServer(parts, method)

    return Entry(open_, needs=needs_of(method), by_engine=True)


class EngineServer:
    """An engine for one method, over the parts that all methods of a worker share."""

    def __init__(self, parts: Parts, method: str) -> None:
        self._engine = Engine(replace(parts, method=method, record=True))  # events: times of the forwards alone

    def forget(self) -> None:
        self._engine.forget()

    async def serve(self, request: Request, known: Sequence[int]) -> Measured:
        recorder = self._engine.recorder
        try:
            completion = await self._engine.generate(request)
            return _measured(completion, recorder.events)
        finally:
            recorder.logs.clear()


def _measured(completion: Completion, events: Sequence[Event]) -> Measured:
    metrics = completion.metrics
    forwards = sum(event.seconds for event in events if event.track == "target" and event.name != "prefill")
    return Measured(
        tokens=list(completion.tokens),
        margins=[round(margin, 5) for margin in completion.margins],
        total_seconds=metrics.total_seconds,
        first_token_seconds=metrics.first_token_seconds,
        prefill_seconds=metrics.prefill_seconds,
        decode_seconds=metrics.decode_seconds,
        host_seconds=max(0.0, metrics.decode_seconds - forwards),
        rounds=metrics.rounds,
        drafted=metrics.drafted,
        accepted=metrics.accepted,
        reused_tokens=metrics.reused_tokens,
        sources=dict(Counter(completion.sources)),
        hint=_hint(completion, events),
    )


def _hint(completion: Completion, events: Sequence[Event]) -> HintRow | None:
    """None for a method that polls no hint and has no wave."""
    use = completion.metrics.hint
    if not use.versions and use.wave_seconds is None:
        return None
    versions = [event.data["version"] for event in events if event.track == "channel"]
    polls = [event.data for event in events if (event.track, event.name) == ("channel", "poll")]
    early = [poll["version"] for poll in polls if poll["position"] == 1]
    return HintRow(
        payload_bytes=use.payload_bytes,
        versions=use.versions,
        arrival_seconds=use.arrival_seconds,
        arrival_position=use.arrival_position,
        whole_at_first_round=bool(early) and early[-1] == max(versions),
        wave_seconds=use.wave_seconds,
    )
