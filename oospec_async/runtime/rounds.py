"""The round loop of one request: poll, propose, verify, commit, emit. It never waits for the sidecar."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from oospec_async.completion import Chunk
from oospec_async.decoding.draft_chain import NO_CHAIN, Chain
from oospec_async.decoding.forward import TargetForward
from oospec_async.decoding.state import DecodeState
from oospec_async.decoding.tree import DraftTree
from oospec_async.decoding.verify import Verdict
from oospec_async.hints import Hint
from oospec_async.recording.recorder import RequestLog
from oospec_async.runtime.executor import Executor
from oospec_async.runtime.parts import Clock
from oospec_async.runtime.ports import DraftPort, TargetPort
from oospec_async.sidecar.channel import HintReader

Emit = Callable[[Chunk], None]


@dataclass(frozen=True)
class Rounds:
    """Drives one DecodeState to its end, and tells the log what it does and when."""

    target: TargetPort
    executor: Executor
    clock: Clock
    log: RequestLog
    emit: Emit
    reader: HintReader | None = None
    draft_model: DraftPort | None = None

    async def prefill(self, prompt: Sequence[int], *, reuse: bool = False) -> TargetForward:
        if self.draft_model is not None:
            await self.executor.run(self.draft_model.begin, reuse=reuse)
        forward = await self.executor.run(self.target.prefill, prompt, reuse=reuse)
        self.log.prefilled(forward, len(prompt))
        return forward

    async def run(self, state: DecodeState, prefill: TargetForward) -> None:
        """Commit what the prefill gave, then go round after round until the request ends."""
        hint: Hint | None = None
        verdict = self._commit(state, DraftTree([state.last]), prefill)
        while state.finish is None:
            chain = await self._chain(state)
            start = self.clock()
            hint = self._poll(state) or hint
            tree = state.propose(hint, chain)
            self.log.drafted(start, self.clock(), tree)
            forward = await self.executor.run(self.target.verify, verdict.path, tree.tokens, tree.parents)
            verdict = self._commit(state, tree, forward)
            self.log.verified(forward, tree, verdict, state.sources)

    async def _chain(self, state: DecodeState) -> Chain:
        """What the draft model says, if there is one. The target waits for it: they share a device."""
        if self.draft_model is None:
            return NO_CHAIN
        start = self.clock()
        chain = await self.executor.run(self.draft_model.chain, state.committed, state.room)
        self.log.chained(start, self.clock(), chain)
        return chain

    def _poll(self, state: DecodeState) -> Hint | None:
        """A hint that has come since the last poll."""
        delivery = self.reader.poll() if self.reader is not None else None
        if delivery is None:
            return None
        self.log.polled(self.clock(), delivery, len(state.output))
        return delivery.hint

    def _commit(self, state: DecodeState, tree: DraftTree, forward: TargetForward) -> Verdict:
        start, position = self.clock(), len(state.output)
        verdict = state.commit(tree, forward.predicted, forward.successors)
        self.log.chosen(verdict, forward)  # within the commit's time, and so within the request's
        self.log.committed(start, self.clock(), verdict)
        sources, pieces = tuple(state.sources[position:]), tuple(state.pieces[position:])
        self.emit(Chunk(verdict.tokens, sources, pieces, verdict.finish))
        return verdict
