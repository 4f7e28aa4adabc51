"""The round loop without clock, threads and channel; the models are real."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from helpers import tiny
from oospec_async.decoding.draft_chain import NO_CHAIN
from oospec_async.decoding.drafters import drafters_of
from oospec_async.decoding.drafters.base import Drafter
from oospec_async.decoding.memory import Recollection
from oospec_async.decoding.state import DecodeState, Setting
from oospec_async.decoding.tree import Candidate, DraftTree, VerifyCurve
from oospec_async.decoding.verify import Limits
from oospec_async.decoding.view import View
from oospec_async.dialects.dialect import NAMED
from oospec_async.hints import Hint
from oospec_async.request import Tool
from oospec_async.runtime.ports import DraftPort
from oospec_async.target.target import Target

FREE = VerifyCurve(((1, 1.0), (64, 1.0)))  # every draft pays for itself
HintAt = Callable[[int], Hint | None]  # round -> the newest hint


@dataclass
class Run:
    state: DecodeState
    rounds: int = 0
    drafted: int = 0
    accepted: int = 0
    end_was_drafted: bool = False  # the token that ended the output stood in the last tree, with others after it

    @property
    def output(self) -> list[int]:
        return self.state.output


def setting(
    prompt: Sequence[int],
    limits: Limits,
    *,
    method: str = "ar",
    drafters: Sequence[Drafter] | None = None,
    tools: Sequence[Tool] = tiny.TOOLS,
    memory: Recollection | None = None,
    curve: VerifyCurve = FREE,
    vocabulary: int | None = None,
) -> Setting:
    return Setting(
        prompt=prompt,
        tools=tools,
        limits=limits,
        codec=tiny.codec(),
        dialects=list(NAMED.values()),
        drafters=drafters_of(method) if drafters is None else drafters,
        memory=memory or Recollection(),
        curve=curve,
        vocabulary=vocabulary or len(tiny.tokenizer()) + tiny.PADDING,
    )


def decode(
    target: Target, setting: Setting, hint_at: HintAt = lambda number: None, draft_model: DraftPort | None = None
) -> Run:
    """Decode a request to its end, as the engine does."""
    if draft_model is not None:
        draft_model.begin()
    step = target.prefill(setting.prompt)
    run = Run(DecodeState(setting))
    verdict = run.state.commit(DraftTree([setting.prompt[-1]]), step.predicted, step.successors)
    while run.state.finish is None:
        committed = [*setting.prompt, *run.state.output]
        chain = draft_model.chain(committed, run.state.room) if draft_model is not None else NO_CHAIN
        tree = run.state.propose(hint_at(run.rounds), chain)
        step = target.verify(verdict.path, tree.tokens, tree.parents)
        verdict = run.state.commit(tree, step.predicted, step.successors)
        run.rounds += 1
        run.drafted += len(tree) - 1
        run.accepted += len(verdict.path) - 1
        end = tree.children[verdict.path[-1]].get(verdict.tokens[-1])
        run.end_was_drafted = end is not None and bool(tree.children[end])
    return run


class Adversary(Drafter):
    """Knows the output, and drafts it with errors: wrong after a few tokens, beside the right ones, or unknown ids."""

    name = "adversary"

    def __init__(self, output: Sequence[int], vocabulary: int, seed: int = 0) -> None:
        self._output, self._vocabulary, self._seed = output, vocabulary, seed

    def propose(self, view: View) -> list[Candidate]:
        here = len(view.output)
        chance = random.Random(self._seed * 100_003 + here)

        def wild(count: int) -> tuple[int, ...]:
            return tuple(chance.randrange(self._vocabulary) for _ in range(count))

        right = tuple(self._output[here : here + chance.randrange(8)])
        unknown = (*right[:1], self._vocabulary, self._vocabulary + 1000)
        chains = [right + wild(2), right[:2] + wild(3), right[:-1] + wild(1), wild(3), unknown, (2**31,)]
        return [Candidate(chain, self.name, 0.9 - 0.1 * rank) for rank, chain in enumerate(chains)]


def drafted_texts(tree: DraftTree) -> list[str]:
    """What each leaf of a tree would add to the output."""
    texts = []
    for node in range(1, len(tree)):
        if not tree.children[node]:
            path = [node]
            while tree.parents[path[-1]]:
                path.append(tree.parents[path[-1]])
            texts.append(tiny.codec().decode([tree.tokens[n] for n in reversed(path)]))
    return texts
