"""The round loop of one request: poll, draft, verify, commit. It never waits for the sidecar."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from oospec_async.completion import Chunk, HintUse, Metrics
from oospec_async.decoding.draft_chain import NO_CHAIN, Chain
from oospec_async.decoding.forward import Step
from oospec_async.decoding.state import DecodeState
from oospec_async.decoding.tree import DraftTree
from oospec_async.decoding.verify import Verdict
from oospec_async.events import Event, Track, WaveReport
from oospec_async.recording.recorder import Recorder
from oospec_async.runtime.executor import Executor
from oospec_async.runtime.parts import Clock
from oospec_async.runtime.ports import DraftPort, TargetPort
from oospec_async.sidecar.channel import Delivery, HintReader

Emit = Callable[[Chunk], None]


@dataclass
class Rounds:
    """Drives one DecodeState to its end, and keeps what metrics are made from."""

    target: TargetPort
    executor: Executor
    reader: HintReader | None
    recorder: Recorder
    request: str
    method: str
    emit: Emit
    clock: Clock
    draft_model: DraftPort | None = None
    prompt: Sequence[int] = ()
    prefill_step: Step | None = None
    rounds: int = 0
    drafted: int = 0
    accepted: int = 0
    first_token_ns: int = 0
    last_commit_ns: int = 0
    margins: list[float] = field(default_factory=list)
    successors: list[Sequence[int]] = field(default_factory=list)  # likely tokens in the place of each output token
    deliveries: list[tuple[int, int, Delivery]] = field(default_factory=list)  # poll time, output position

    async def prefill(self, prompt: Sequence[int], *, reuse: bool = False) -> Step:
        self.prompt = prompt
        if (model := self.draft_model) is not None:
            await self.executor.run(lambda: model.begin(reuse=reuse))
        step = await self.executor.run(lambda: self.target.prefill(prompt, reuse=reuse))
        self.prefill_step = step
        read = len(prompt) - step.reused
        self._record("target", "prefill", step.start_ns, step.end_ns, tokens=read, context=step.reused)
        return step

    async def run(self, state: DecodeState) -> None:
        """Commit what the prefill gave, then go round after round until the request ends."""
        assert self.prefill_step is not None
        tree = DraftTree([self.prompt[-1]])
        verdict = self._commit(state, tree, self.prefill_step)
        self.first_token_ns = self.last_commit_ns
        hint = None
        while state.finish is None:
            chain = await self._chain(state)
            start = self.clock()
            delivery = self.reader.poll() if self.reader is not None else None
            if delivery is not None:
                hint = delivery.hint
                self._delivered(delivery, len(state.output))
            tree = state.propose(hint, chain)
            drafted = self.clock()
            self._record("host", "draft", start, drafted, tokens=len(tree) - 1)
            path, tokens, parents = verdict.path, tuple(tree.tokens), tuple(tree.parents)
            position = len(state.output)
            step = await self.executor.run(lambda p=path, t=tokens, a=parents: self.target.verify(p, t, a))  # type: ignore[misc]
            verdict = self._commit(state, tree, step)
            self.rounds += 1
            self.drafted += len(tree) - 1
            self.accepted += len(verdict.path) - 1
            self._record(
                "target",
                "verify",
                step.start_ns,
                step.end_ns,
                tokens=len(tree),
                accepted=len(verdict.path) - 1,
                committed=len(verdict.tokens),
                sources=state.sources[position:],
                position=position,
            )

    async def _chain(self, state: DecodeState) -> Chain:
        """What the draft model says, if there is one. The target waits for it: they share a device."""
        if (model := self.draft_model) is None:
            return NO_CHAIN
        start, tokens = self.clock(), [*self.prompt, *state.output]
        chain = await self.executor.run(lambda: model.chain(tokens, state.room))
        self._record("target", "chain", start, self.clock(), tokens=len(chain.tokens))
        return chain

    def _commit(self, state: DecodeState, tree: DraftTree, step: Step) -> Verdict:
        start = self.clock()
        position = len(state.output)
        verdict = state.commit(tree, step.predicted, step.successors)
        self.margins += [step.margins[node] for node in verdict.path]
        self.successors += [step.successors[node] for node in verdict.path]
        self.last_commit_ns = self.clock()
        self._record("host", "commit", start, self.last_commit_ns, tokens=len(verdict.tokens))
        sources, pieces = tuple(state.sources[position:]), tuple(state.pieces[position:])
        self.emit(Chunk(verdict.tokens, sources, pieces, verdict.finish))
        return verdict

    def _delivered(self, delivery: Delivery, position: int) -> None:
        now = self.clock()
        self.deliveries.append((now, position, delivery))
        self._record(
            "channel",
            "poll",
            now,
            now,
            version=delivery.hint.version,
            position=position,
            ready=delivery.hint.ready_slots,
            bytes=delivery.payload_bytes,
            published_ns=delivery.published_ns,
        )

    def _record(self, track: Track, name: str, start: int, end: int, **data: object) -> None:
        self.recorder.add(Event(track, name, start, end, self.request, self.method, data))

    def metrics(self, start_ns: int, output_tokens: int, wave: WaveReport | None) -> Metrics:
        """Counts and times of a request that began at ``start_ns``."""
        assert self.prefill_step is not None
        hint = HintUse()
        if self.deliveries:
            first, position, _ = self.deliveries[0]
            newest = self.deliveries[-1][2]
            hint = HintUse(len(self.deliveries), (first - start_ns) / 1e9, position, newest.payload_bytes)
        if wave is not None and not wave.cancelled and not wave.error:
            seconds = (wave.end_ns - wave.start_ns) / 1e9
            overlap = min(wave.end_ns, self.last_commit_ns) - max(wave.start_ns, start_ns)
            hidden = max(0.0, overlap / 1e9 / seconds) if seconds else 1.0
            hint = replace(hint, wave_seconds=seconds, wave_hidden=hidden)
        if wave is not None and wave.error:
            hint = replace(hint, error=wave.error)
        return Metrics(
            prompt_tokens=len(self.prompt),
            output_tokens=output_tokens,
            rounds=self.rounds,
            drafted=self.drafted,
            accepted=self.accepted,
            total_seconds=(self.last_commit_ns - start_ns) / 1e9,
            first_token_seconds=(self.first_token_ns - start_ns) / 1e9,
            prefill_seconds=(self.prefill_step.end_ns - self.prefill_step.start_ns) / 1e9,
            decode_seconds=(self.last_commit_ns - self.first_token_ns) / 1e9,
            hint=hint,
            reused_tokens=self.prefill_step.reused,
        )
