"""What happened while requests were served: metrics, timelines, traces and benchmarks read these logs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from oospec_async.decoding.draft_chain import Chain
from oospec_async.decoding.forward import TargetForward
from oospec_async.decoding.tree import DraftTree
from oospec_async.decoding.verify import Verdict
from oospec_async.events import Event, Track, WaveReport
from oospec_async.hints import Hint, decode_hint
from oospec_async.recording.profile import Decode
from oospec_async.request import Tool
from oospec_async.sidecar.channel import Delivery


@dataclass
class RequestLog:
    """Of one request: the round loop tells it each of its steps. Times are those of events.

    ``decode`` is None unless the request was served to its end. ``hints``: every published one that is known, polled or
    not, as the target's side reads it; versions ascend.
    """

    request: str
    method: str
    arrival_ns: int  # it was handed to the engine
    start_ns: int  # its turn came
    events: list[Event] = field(default_factory=list)
    margins: list[float] = field(default_factory=list)  # of each output token, in logits
    successors: list[Sequence[int]] = field(default_factory=list)  # likely tokens in the place of each output token
    hints: tuple[Hint, ...] = ()
    decode: Decode | None = None

    def prefilled(self, forward: TargetForward, prompt_tokens: int) -> None:
        read = prompt_tokens - forward.reused
        self._add("target", "prefill", forward.start_ns, forward.end_ns, tokens=read, context=forward.reused)

    def chained(self, start_ns: int, end_ns: int, chain: Chain) -> None:
        self._add("target", "chain", start_ns, end_ns, tokens=len(chain.tokens))

    def polled(self, now_ns: int, delivery: Delivery, position: int) -> None:
        hint = delivery.hint
        self.hints = (*self.hints, hint)
        self._add(
            "channel",
            "poll",
            now_ns,
            now_ns,
            version=hint.version,
            position=position,
            ready=hint.ready_slots,
            bytes=delivery.payload_bytes,
            published_ns=delivery.published_ns,
        )

    def drafted(self, start_ns: int, end_ns: int, tree: DraftTree) -> None:
        self._add("host", "draft", start_ns, end_ns, tokens=len(tree) - 1)

    def chosen(self, verdict: Verdict, forward: TargetForward) -> None:
        self.margins += [forward.margins[node] for node in verdict.path]
        self.successors += [forward.successors[node] for node in verdict.path]

    def committed(self, start_ns: int, end_ns: int, verdict: Verdict) -> None:
        self._add("host", "commit", start_ns, end_ns, tokens=len(verdict.tokens))

    def verified(self, forward: TargetForward, tree: DraftTree, verdict: Verdict, sources: Sequence[str]) -> None:
        """``sources``: of all output tokens so far."""
        position = len(sources) - len(verdict.tokens)
        self._add(
            "target",
            "verify",
            forward.start_ns,
            forward.end_ns,
            tokens=len(tree),
            accepted=len(verdict.path) - 1,
            committed=len(verdict.tokens),
            sources=list(sources[position:]),
            position=position,
        )

    def ended(self, decode: Decode, wave: WaveReport | None, tools: Sequence[Tool]) -> None:
        """The request was served to its end; what its wave has reported belongs to it."""
        self.decode = decode
        told = {hint.version: hint for hint in self.hints}
        if wave is not None:
            self.events += [replace(event, method=self.method) for event in wave.events]
            reported = (decode_hint(payload, version, tools) for version, payload in wave.payloads)
            told = {hint.version: hint for hint in reported if hint is not None} | told
        self.hints = tuple(told[version] for version in sorted(told))

    def named(self, track: Track, name: str) -> list[Event]:
        return [event for event in self.events if (event.track, event.name) == (track, name)]

    def _add(self, track: Track, name: str, start_ns: int, end_ns: int, **data: object) -> None:
        self.events.append(Event(track, name, start_ns, end_ns, self.request, self.method, data))


class Recorder:
    """The logs of all requests; an engine that serves for days keeps none."""

    def __init__(self, *, keep: bool) -> None:
        self.logs: list[RequestLog] = []
        self._keep = keep

    def begin(self, request: str, method: str, arrival_ns: int, start_ns: int) -> RequestLog:
        """The log of a request whose turn has come."""
        log = RequestLog(request, method, arrival_ns, start_ns)
        if self._keep:
            self.logs.append(log)
        return log

    @property
    def events(self) -> list[Event]:
        return [event for log in self.logs for event in log.events]

    @property
    def served(self) -> list[RequestLog]:
        """Those that were served to their end."""
        return [log for log in self.logs if log.decode is not None]
