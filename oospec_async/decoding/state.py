"""The decoding of one request: propose a draft tree, commit what was verified. Pure: knows no model and no clock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from oospec_async.decoding.draft_chain import NO_CHAIN, Chain
from oospec_async.decoding.drafters.base import Drafter
from oospec_async.decoding.memory import Recollection
from oospec_async.decoding.text import Codec, OutputText
from oospec_async.decoding.tree import DraftTree, VerifyCurve, build_tree
from oospec_async.decoding.verify import Finish, Limits, Verdict, Verifier
from oospec_async.decoding.view import View
from oospec_async.dialects.call_site import THINK
from oospec_async.dialects.dialect import Dialect
from oospec_async.hints import Hint
from oospec_async.request import Tool

MAX_NODES = 48  # drafted nodes in a tree; the verify curve usually stops earlier


@dataclass(frozen=True)
class Setting:
    """What stays the same while a request is decoded."""

    prompt: Sequence[int]
    tools: Sequence[Tool]
    limits: Limits
    codec: Codec
    dialects: Sequence[Dialect]  # of the target: its template's, then named ones
    drafters: Sequence[Drafter]
    memory: Recollection
    curve: VerifyCurve
    vocabulary: int  # ids at or above it are unknown to the target


class DecodeState:
    """Committed output, and what comes next. Round 0 is the prefill: a tree of the prompt's last token alone."""

    def __init__(self, setting: Setting) -> None:
        self.output: list[int] = []
        self.sources: list[str] = []  # of each output token: the drafter that proposed it, "" where the target did
        self.pieces: list[str] = []  # text that each output token added
        self.finish: Finish | None = None
        self._setting = setting
        self._text = OutputText(setting.codec)
        known: dict[Dialect, Dialect] = {}
        for dialect in (*setting.memory.dialects, *setting.dialects):  # each once, however it became known
            known.setdefault(replace(dialect, name=""), dialect)
        self._dialects = list(known.values())
        self._verifier = Verifier(setting.limits, setting.codec)
        self.prompt_thinks = setting.codec.decode(setting.prompt[-16:]).rstrip().endswith(THINK)

    @property
    def text(self) -> str:
        """The output's text, without the token that ended it."""
        return self._text.text

    @property
    def committed(self) -> list[int]:
        """Prompt and output."""
        return [*self._setting.prompt, *self.output]

    @property
    def last(self) -> int:
        """The last committed token: the root of the next draft tree."""
        return self.output[-1] if self.output else self._setting.prompt[-1]

    @property
    def room(self) -> int:
        """Tokens that a draft may have: every round yields one more by itself."""
        return self._setting.limits.max_new_tokens - len(self.output) - 1

    def view(self, hint: Hint | None, chain: Chain = NO_CHAIN) -> View:
        setting = self._setting
        return View(
            prompt=setting.prompt,
            output=self.output,
            text=self.text,
            tools=setting.tools,
            known_dialects=self._dialects,
            memory=setting.memory,
            codec=setting.codec,
            hint=hint,
            prompt_thinks=self.prompt_thinks,
            chain=chain,
        )

    def propose(self, hint: Hint | None = None, chain: Chain = NO_CHAIN) -> DraftTree:
        """The tree for the next round; ``chain`` is what a draft model says of what is committed by now."""
        setting = self._setting
        view = self.view(hint, chain)
        candidates = [c for drafter in setting.drafters for c in drafter.propose(view)]
        return build_tree(
            view.last,
            [c for c in candidates if all(token < setting.vocabulary for token in c.tokens)],
            curve=setting.curve,
            max_nodes=MAX_NODES,
            max_depth=self.room,
        )

    def commit(self, tree: DraftTree, predicted: Sequence[int], successors: Sequence[Sequence[int]]) -> Verdict:
        """Verify ``tree`` against the target and commit what holds.

        ``predicted[n]`` is the target's next token after node n, ``successors[n]`` its most likely ones, best first.
        """
        assert self.finish is None, "the request has ended"
        verdict = self._verifier.verify(tree, predicted)
        for node in verdict.path:
            self._setting.memory.successors[tree.tokens[node]] = successors[node]
        drafted = [tree.sources[node] for node in verdict.path[1:]]
        self.sources += drafted + [""] * (len(verdict.tokens) - len(drafted))
        self.output += verdict.tokens
        for token in verdict.tokens:
            before = len(self._text.stable)
            if token not in self._setting.limits.end_tokens:
                self._text.append(token)
            self.pieces.append(self._text.stable[before:])
        self.finish = verdict.finish
        return verdict
