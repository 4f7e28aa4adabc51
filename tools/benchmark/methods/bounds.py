"""Limits of what hints can do: a perfect one from the start, and a real wave whose hint is never shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from oospec_async.decoding.drafters.needs import HINTS
from oospec_async.dialects.call_site import THINK
from oospec_async.events import WaveReport
from oospec_async.hints import CallHint, Hint
from oospec_async.request import Request
from oospec_async.runtime.parts import Parts
from oospec_async.runtime.ports import SidecarPort
from oospec_async.sidecar.channel import CHANNEL_SIZE, Address, HintReader
from oospec_async.testing import ScriptedSidecar
from oospec_async.toolcall import parse_calls
from tools.benchmark.methods.base import Entry, Server
from tools.benchmark.methods.engine import EngineServer
from tools.benchmark.options import Options
from tools.benchmark.rows import Measured

_METHOD = "oospec"


class Unseen:
    """A SidecarPort whose waves are a real sidecar's, and whose reader never finds a hint."""

    def __init__(self, sidecar: SidecarPort) -> None:
        self._sidecar = sidecar
        self.reader = HintReader(memoryview(bytearray(CHANNEL_SIZE)))

    async def wave(self, address: Address, request: Request, *, reuse: bool = False) -> WaveReport | None:
        return await self._sidecar.wave(address, request, reuse=reuse)

    async def close(self) -> None:
        return


def perfect_hint(text: str, request: Request, *, thinking: bool = False) -> Hint | None:
    """The hint that holds the calls of an output, and says of every other slot that it is left out; None: no call."""
    calls = []
    for call in parse_calls(text, thinking=thinking):
        tool = request.tool(call.name)
        slots = {slot.name for slot in tool.slots} if tool is not None else set()
        calls.append(CallHint(call.name, call.arguments, frozenset(slots - call.arguments.keys())))
    return Hint(tuple(calls)) if calls else None


class PerfectServer(EngineServer):
    """The engine with a hint made from the request's own output."""

    def __init__(self, parts: Parts) -> None:
        self._parts, self._hints = parts, dict[str, Hint]()
        # It publishes before the prefill begins.
        super().__init__(replace(parts, sidecar=ScriptedSidecar(self._hints, ends=True)), _METHOD)

    async def serve(self, request: Request, known: Sequence[int]) -> Measured:
        parts = self._parts
        ended = known[-1:] and known[-1] in parts.target.end_tokens
        text = parts.codec.decode(known[:-1] if ended else known)
        before = parts.codec.decode(parts.prompts.ids(request)[-16:])
        hint = perfect_hint(text, request, thinking=before.rstrip().endswith(THINK))
        self._hints.clear()
        if hint is not None:
            self._hints[request.id] = hint
        return await super().serve(request, known)


def _perfect(parts: Parts, options: Options) -> Server:
    return PerfectServer(parts)


def _never(parts: Parts, options: Options) -> Server:
    assert parts.sidecar is not None  # its entry asks for one
    return EngineServer(replace(parts, sidecar=Unseen(parts.sidecar)), _METHOD)


PERFECT = Entry(
    _perfect,
    about="a perfect hint, there from the start: what oospec could be at best",
    by_engine=True,
    after=("ar", "generate"),
)
NEVER = Entry(
    _never, about="the sidecar works, and its hint is never shown: what it costs", needs=(HINTS,), by_engine=True
)
