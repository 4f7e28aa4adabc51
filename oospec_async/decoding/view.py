"""What a drafter may look at: the committed prefix, the request, the memory, the newest hint and a model's chain."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from oospec_async.decoding.draft_chain import NO_CHAIN, Chain
from oospec_async.decoding.memory import Recollection
from oospec_async.decoding.text import Codec, Tail
from oospec_async.decoding.tree import Candidate
from oospec_async.dialects.call_site import CallSite, locate
from oospec_async.dialects.dialect import Dialect
from oospec_async.dialects.wrapping import dialects_at
from oospec_async.hints import Hint
from oospec_async.request import Tool

_LONGEST_CONTINUATION = 1000  # characters; bounds the time that a monstrous hint can cost


@dataclass(frozen=True)
class Draft:
    """A continuation as text, and the chance that its first token is right. ``final``: the output may end with it."""

    text: str
    prior: float
    final: bool = False


@dataclass(frozen=True)
class View:
    """A committed prefix. ``prompt`` and ``output`` are token ids; ``text`` is the output's text."""

    prompt: Sequence[int]
    output: Sequence[int]
    text: str
    tools: Sequence[Tool]
    known_dialects: Sequence[Dialect]  # most trusted first
    memory: Recollection
    codec: Codec
    hint: Hint | None = None
    prompt_thinks: bool = False  # the prompt has opened a think block
    chain: Chain = NO_CHAIN  # what a draft model says of this prefix; empty where none was asked

    @cached_property
    def site(self) -> CallSite:
        return locate(self.text, thinking=self.prompt_thinks, offered={tool.name for tool in self.tools})

    @cached_property
    def dialects(self) -> list[Dialect]:
        """Those that explain what is written first."""
        return dialects_at(self.text, self.site, self.known_dialects)

    @property
    def last(self) -> int:
        """The last committed token: the root of the draft tree."""
        return self.output[-1] if self.output else self.prompt[-1]

    def candidates(self, drafts: Iterable[Draft], source: str, survival: float) -> list[Candidate]:
        """Continuations as tokens; those of which no token is certain enough to draft are left out."""
        best: dict[tuple[str, bool], float] = {}
        for draft in drafts:
            text = draft.text[:_LONGEST_CONTINUATION]
            key = text, draft.final and text == draft.text
            best[key] = max(draft.prior, best.get(key, 0.0))
        tokens = {key: self._tail.continue_with(key[0], final=key[1]) for key in best if key[0]}
        return [Candidate(tuple(ids), source, best[key], survival) for key, ids in tokens.items() if ids]

    @cached_property
    def _tail(self) -> Tail:
        return Tail(self.codec, self.output)
