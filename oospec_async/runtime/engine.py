"""The engine: requests in, completions out; one target, at most one sidecar."""

from __future__ import annotations

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import AsyncGenerator, AsyncIterator, Sequence

from oospec_async.completion import Chunk, Completion
from oospec_async.decoding.drafters import drafters_of, lacking, needs_of
from oospec_async.decoding.drafters.base import Drafter
from oospec_async.decoding.drafters.needs import CHAINS, HINTS
from oospec_async.decoding.memory import Memory, Recollection
from oospec_async.decoding.state import Setting
from oospec_async.decoding.verify import Limits
from oospec_async.dialects.wrapping import observed_dialect
from oospec_async.errors import OospecError
from oospec_async.events import WaveReport
from oospec_async.recording.metrics import metrics_of
from oospec_async.recording.profile import Decode
from oospec_async.recording.recorder import Recorder
from oospec_async.request import Request
from oospec_async.runtime.config import EngineConfig, Report
from oospec_async.runtime.failure import GuardedExecutor
from oospec_async.runtime.parts import Parts
from oospec_async.runtime.ports import SidecarPort
from oospec_async.runtime.rounds import Emit, Rounds
from oospec_async.sidecar.channel import Address, HintReader
from oospec_async.toolcall import parse_calls

_FINISH_SECONDS = 30.0  # how long a recorder waits for a wave whose decode has ended


class Engine:
    """Serves requests one at a time, each by any method; the memory of earlier outputs is kept per method.

    ``Engine.open`` loads models; the constructor takes parts that exist already, stubs among them.
    """

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self.recorder = Recorder(keep=parts.record)
        self._memories: defaultdict[str, Memory] = defaultdict(parts.memory)
        self._turn = asyncio.Lock()
        self._serial = 0
        self._last_method = ""  # whose prompt's beginning may be reused

    async def generate(self, request: Request, method: str | None = None) -> Completion:
        """Decode a request to its end. Raises OospecError for one that cannot be served; cancelling is safe.

        RequestFailed, an OospecError, if the target failed or its memory did not suffice: the next one is served.
        """
        return await self._serve(request, method or self.parts.method, lambda chunk: None)

    async def stream(self, request: Request, method: str | None = None) -> AsyncGenerator[Chunk | Completion, None]:
        """Yield a chunk per round as it is committed, then the completion. Raises as ``generate`` does.

        A caller that stops early should leave through ``contextlib.aclosing``, so that the request ends at once.
        """
        queue: asyncio.Queue[Chunk | None] = asyncio.Queue()
        task = asyncio.create_task(self._serve(request, method or self.parts.method, queue.put_nowait))
        task.add_done_callback(lambda _: queue.put_nowait(None))
        try:
            while (chunk := await queue.get()) is not None:
                yield chunk
            yield await task
        finally:
            task.cancel()
            await asyncio.wait([task])
            if not task.cancelled():
                task.exception()  # seen: who has left early does not ask how it ended

    @classmethod
    @contextlib.asynccontextmanager
    async def open(
        cls, config: EngineConfig | None = None, report: Report = lambda line: None
    ) -> AsyncIterator[Engine]:
        """Load models and start the sidecar; leaving the context closes both, workers included.

        ``report`` is told, a line each, what is being done and which weights were taken. Raises OospecError on entry.
        """
        try:
            from oospec_async.runtime.open import open_parts
        except ModuleNotFoundError as missing:
            raise OospecError(
                f"{missing.name} is not installed; pip install '.[live]' brings what models need"
            ) from None
        async with open_parts(config or EngineConfig(), report) as parts:
            yield cls(parts)

    def check(self, request: Request) -> None:
        """Raises OospecError if the request cannot be served, without serving it."""
        self._prompt(request)

    def forget(self) -> None:
        """Drop what earlier requests have left, outputs and prompts: the next one starts cold."""
        self._memories.clear()
        self._last_method = ""

    async def _serve(self, request: Request, method: str, emit: Emit) -> Completion:
        drafters, needs = drafters_of(method), needs_of(method)
        if (lack := lacking(method, self.parts)) is not None:
            raise OospecError(f"method {method!r} {lack.unmet_engine}")
        sidecar = self.parts.sidecar if HINTS in needs else None
        model = self.parts.draft_model if CHAINS in needs else None
        arrival_ns = self.parts.clock()
        async with self._turn:
            self._serial += 1
            start_ns = self.parts.clock()
            # Templates and texts may be long: not on the loop, where others wait for their own.
            prompt = await self.parts.executor.run(self._prompt, request)
            # Not across methods: of two that serve the same request, the second would find its whole prompt.
            reuse = self.parts.reuse_prefix and method == self._last_method
            self._last_method = method
            log = self.recorder.begin(request.id, method, arrival_ns, start_ns)
            async with self._wave(request, sidecar, reuse) as (reader, wave):
                parts, memory = self.parts, self._memories[method]
                executor = GuardedExecutor(parts.executor, request.id)
                rounds = Rounds(parts.target, executor, parts.clock, log, emit, reader, model)
                prefill = await rounds.prefill(prompt, reuse=reuse)
                recollection = memory.recall(prefill.state)
                setting = self._setting(request, prompt, drafters, recollection)
                state = parts.decoding(setting)
                await rounds.run(state, prefill)
                dialect = observed_dialect(state.text, parts.prompts.dialects, thinking=state.prompt_thinks)
                memory.learn(state.output, prefill.state, recollection, dialect)
                report = await self._report(wave)
        log.ended(Decode(setting, tuple(state.output), tuple(log.successors)), report, request.tools)
        calls = parse_calls(state.text, thinking=state.prompt_thinks, tools=request.tools)
        return Completion(
            request=request.id,
            method=method,
            text=state.text,
            tokens=tuple(state.output),
            sources=tuple(state.sources),
            margins=tuple(log.margins),
            calls=tuple(calls),
            invalid_calls=calls.invalid,
            finish=state.finish or "length",
            metrics=metrics_of(log, len(state.output), report),
        )

    def _prompt(self, request: Request) -> list[int]:
        prompt, context = self.parts.prompts.ids(request), self.parts.target.context
        if not prompt:
            raise OospecError(f"request {request.id!r}: its prompt is empty; the chat template writes nothing")
        if max(prompt) >= self.parts.target.vocabulary:
            raise OospecError(
                f"request {request.id!r}: its prompt has token {max(prompt)}, and the target knows "
                f"{self.parts.target.vocabulary}: tokenizer and weights do not belong together"
            )
        if len(prompt) >= context:
            raise OospecError(
                f"request {request.id!r}: its prompt has {len(prompt)} tokens and the target's context is {context}; "
                f"shorten the messages or offer fewer tools"
            )
        return prompt

    def _setting(
        self, request: Request, prompt: Sequence[int], drafters: Sequence[Drafter], recollection: Recollection
    ) -> Setting:
        parts = self.parts
        room = parts.target.context - len(prompt)  # the output ends where the context does
        return Setting(
            prompt=prompt,
            tools=request.tools,
            limits=Limits(min(request.max_new_tokens, room), parts.target.end_tokens, request.stop),
            codec=parts.codec,
            dialects=parts.prompts.dialects,
            drafters=drafters,
            memory=recollection,
            curve=parts.curve,
            vocabulary=parts.target.vocabulary,
        )

    @contextlib.asynccontextmanager
    async def _wave(
        self, request: Request, sidecar: SidecarPort | None, reuse: bool
    ) -> AsyncIterator[tuple[HintReader | None, asyncio.Task[WaveReport | None] | None]]:
        """Launch a request's wave; it is cancelled when the request is through with it, however that ends."""
        if sidecar is None:
            yield None, None
            return
        address = Address(self._serial)
        sidecar.reader.expect(address, request.tools)
        wave = asyncio.create_task(sidecar.wave(address, request, reuse=reuse))
        try:
            await asyncio.sleep(0)  # let it be sent before the prefill begins
            yield sidecar.reader, wave
        finally:
            wave.cancel()
            await asyncio.wait([wave])

    async def _report(self, wave: asyncio.Task[WaveReport | None] | None) -> WaveReport | None:
        if wave is None:
            return None
        await asyncio.wait([wave], timeout=_FINISH_SECONDS if self.parts.finish_waves else 0)
        ended = wave.done() and not wave.cancelled() and wave.exception() is None
        return wave.result() if ended else None
