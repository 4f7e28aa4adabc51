"""A target, a draft model and a sidecar that follow a script: no model, no process, no time of their own."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from oospec_async.decoding.draft_chain import Chain
from oospec_async.decoding.forward import TargetForward
from oospec_async.decoding.memory import State
from oospec_async.decoding.text import Codec
from oospec_async.dialects.dialect import NAMED, Dialect
from oospec_async.events import WaveReport
from oospec_async.hints import Hint
from oospec_async.request import Request
from oospec_async.sidecar.channel import CHANNEL_SIZE, Address, HintReader, HintWriter

END = 0  # the token that ends a scripted output


class CharCodec:
    """Every character is a token."""

    def encode(self, text: str) -> list[int]:
        return [ord(char) for char in text]

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(map(chr, ids))


class MessagePrompts:
    """A prompt is the text of the last message."""

    dialects: Sequence[Dialect] = (NAMED["hermes"], NAMED["fenced"])

    def __init__(self, codec: Codec | None = None) -> None:
        self._codec = codec or CharCodec()

    def ids(self, request: Request) -> list[int]:
        return self._codec.encode(request.messages[-1].content or "")


class ScriptedTarget:
    """Answers a prompt with a fixed text, whatever is drafted, and checks that only this text is ever committed.

    ``answers``: the text, or one for each text of a prompt. The hooks run within the target's forwards:
    ``before_prefill``, and ``before_verify`` with the number of the round, 1 for a request's first.
    """

    vocabulary = 0x110000

    def __init__(self, answers: Mapping[str, str] | str, context: int = 4096, codec: Codec | None = None) -> None:
        self.answers = answers
        self.context = context
        self.end_tokens = frozenset({END})
        self.before_prefill: Callable[[], object] = lambda: None
        self.before_verify: Callable[[int], object] = lambda round_: None
        self.prompts: list[str] = []  # every prefill's
        self.rounds = 0  # of the newest request
        self._codec = codec or CharCodec()
        self._script: list[int] = []
        self._prompt_tokens = 0
        self._places: list[int] = []  # of each node: how much of the script is said with it; -1 if it errs

    def rest(self, tokens: Sequence[int]) -> list[int]:
        """How the script of the newest request goes on after ``tokens``, its prompt and output."""
        return self._script[len(tokens) - self._prompt_tokens :]

    def prefill(self, prompt: Sequence[int], *, reuse: bool = False) -> TargetForward:
        start = time.monotonic_ns()
        text = self._codec.decode(prompt)
        self.prompts.append(text)
        self.before_prefill()
        answer = self.answers if isinstance(self.answers, str) else self.answers[text]
        self._script = [*self._codec.encode(answer), END]
        self._prompt_tokens, self._places, self.rounds = len(prompt), [0], 0
        return self._forward(start, np.ones(4, dtype=np.float32))

    def verify(self, path: Sequence[int], tokens: Sequence[int], parents: Sequence[int]) -> TargetForward:
        start = time.monotonic_ns()
        self.rounds += 1
        self.before_verify(self.rounds)
        root = self._places[path[0]]
        kept = [self._places[node] for node in path]
        right = kept == list(range(root, root + len(path))) and tokens[0] == self._script[kept[-1]]
        assert right, "committed what the target did not say"
        self._places = [kept[-1] + 1]
        for token, parent in zip(tokens[1:], parents[1:], strict=True):
            place = self._places[parent]
            follows = 0 <= place < len(self._script) and self._script[place] == token
            self._places.append(place + 1 if follows else -1)
        return self._forward(start, None)

    def _forward(self, start: int, state: State | None) -> TargetForward:
        predicted = [self._script[n] if 0 <= n < len(self._script) else END for n in self._places]
        return TargetForward(
            predicted, [[p] for p in predicted], [1.0] * len(predicted), start, time.monotonic_ns(), state
        )


class ScriptedDraftModel:
    """Goes on as the target will, four tokens at a time; every third chain errs in its last token."""

    def __init__(self, target: ScriptedTarget) -> None:
        self._target = target
        self.begun: list[bool] = []  # with reuse or without
        self.asked: list[tuple[Sequence[int], int]] = []  # prompt and output, and the limit

    def begin(self, *, reuse: bool = False) -> None:
        self.begun.append(reuse)

    def chain(self, tokens: Sequence[int], limit: int) -> Chain:
        self.asked.append((tokens, limit))
        said = self._target.rest(tokens)[: min(limit, 4)]
        if said and len(self.asked) % 3 == 0:
            said[-1] += 1
        return Chain(tuple(said), (0.9,) * len(said))


class ScriptedSidecar:
    """Publishes a hint when a wave is launched, and whatever else it is told to.

    ``hint``: for every request, or one for each id of a request. A wave ends at once with ``report`` if ``ends``, else
    never: it is cancelled.
    """

    def __init__(
        self, hint: Hint | Mapping[str, Hint] | None = None, *, ends: bool = False, report: WaveReport | None = None
    ) -> None:
        block = memoryview(bytearray(CHANNEL_SIZE))
        self.reader, self.writer = HintReader(block), HintWriter(block)
        self.launched: list[Address] = []
        self.cancelled: list[Address] = []
        self._hint, self._ends, self._report = hint, ends, report

    @property
    def current(self) -> Address:
        """Whom hints are for."""
        return self.launched[-1]

    def publish(self, hint: Hint, address: Address | None = None) -> int | None:
        """The payload's bytes, or None for one that no channel takes. ``address``: the newest wave's if not given."""
        return self.writer.publish(address or self.current, hint, time.monotonic_ns())

    async def wave(self, address: Address, request: Request, *, reuse: bool = False) -> WaveReport | None:
        self.launched.append(address)
        hint = self._hint.get(request.id) if isinstance(self._hint, Mapping) else self._hint
        if hint is not None:
            self.publish(hint)
        if self._ends:
            return self._report
        try:
            await asyncio.Event().wait()
        finally:
            self.cancelled.append(address)
        return None

    async def close(self) -> None:
        return
