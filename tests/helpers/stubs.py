"""Stand-ins for a target, a sidecar and their surroundings: no model, no process, no time of their own."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

import numpy as np

from oospec_async.completion import Completion
from oospec_async.decoding.draft_chain import Chain
from oospec_async.decoding.forward import Step
from oospec_async.decoding.tree import VerifyCurve
from oospec_async.dialects.dialect import NAMED, Dialect
from oospec_async.hints import CallHint, Hint
from oospec_async.request import Message, Request, Tool
from oospec_async.runtime.channel import CHANNEL_SIZE, Address, HintReader, HintWriter
from oospec_async.runtime.engine import Engine
from oospec_async.runtime.executor import Executor, InlineExecutor
from oospec_async.runtime.parts import Parts
from oospec_async.runtime.ports import DraftPort, SidecarPort, WaveReport

T = TypeVar("T")
Run = Callable[[Coroutine[Any, Any, Any]], Any]  # runs a coroutine to its end

END = 0  # the token that ends an output
WEATHER = Tool(
    name="get_weather",
    parameters={
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
        "required": ["city", "days"],
    },
)
HINT = Hint((CallHint("get_weather", {"city": "Paris", "days": 3}),))
CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}\n</tool_call>'


def call(city: str, days: int = 3) -> str:
    """A call of ``WEATHER`` as hermes models write it."""
    value = {"name": "get_weather", "arguments": {"city": city, "days": days}}
    return f"<tool_call>\n{json.dumps(value, ensure_ascii=False)}\n</tool_call>"


def ask(text: str = "Paris?", **more: Any) -> Request:
    return Request(messages=(Message(role="user", content=text),), tools=(WEATHER,), **{"id": text, **more})


class CharCodec:
    """Every character is a token."""

    def encode(self, text: str) -> list[int]:
        return [ord(char) for char in text]

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(map(chr, ids))


class StubPrompts:
    """A prompt is the text of the last message."""

    dialects: Sequence[Dialect] = (NAMED["hermes"], NAMED["fenced"])

    def ids(self, request: Request) -> list[int]:
        return CharCodec().encode(request.messages[-1].content)


class ScriptedTarget:
    """Answers a prompt with a fixed text, whatever is drafted, and checks that only this text is ever committed.

    After tokens that are no beginning of the answer it predicts a question mark. The hooks run within its forwards:
    ``before_prefill``, and ``before_verify`` with the number of the round, 1 for a request's first.
    """

    vocabulary = 0x110000
    end_tokens = frozenset({END})

    def __init__(self, answers: dict[str, str] | str = CALL, context: int = 4096) -> None:
        self.answers = answers
        self.context = context
        self.before_prefill: Callable[[], object] = lambda: None
        self.before_verify: Callable[[int], object] = lambda round_: None
        self.prompts: list[str] = []  # every prefill's
        self.rounds = 0
        self._script: list[int] = []
        self._committed: list[int] = []
        self._tree: Sequence[int] = ()

    def prefill(self, prompt: Sequence[int], *, reuse: bool = False) -> Step:
        start = time.monotonic_ns()
        text = "".join(map(chr, prompt))
        self.prompts.append(text)
        self.before_prefill()
        answer = self.answers if isinstance(self.answers, str) else self.answers[text]
        self._script, self._committed, self._tree = [*map(ord, answer), END], [], prompt[-1:]
        self.rounds = 0
        return self._step([[]], start, np.ones(4, dtype=np.float32))

    def verify(self, path: Sequence[int], tokens: Sequence[int], parents: Sequence[int]) -> Step:
        start = time.monotonic_ns()
        self.rounds += 1
        self.before_verify(self.rounds)
        self._committed += [self._tree[node] for node in path[1:]] + [tokens[0]]
        self._tree = tokens
        assert self._committed == self._script[: len(self._committed)], "committed what the target did not say"
        paths: list[list[int]] = [[]]
        for token, parent in zip(tokens[1:], parents[1:], strict=True):
            paths.append([*paths[parent], token])
        return self._step(paths, start, None)

    def calibrate(self) -> VerifyCurve:
        return VerifyCurve()

    def _step(self, paths: list[list[int]], start: int, state: Any) -> Step:
        predicted = []
        for path in paths:
            said = self._committed + path
            right = said == self._script[: len(said)] and len(said) < len(self._script)
            predicted.append(self._script[len(said)] if right else ord("?"))
        return Step(predicted, [[p] for p in predicted], [1.0] * len(paths), start, time.monotonic_ns(), state)


class ScriptedDraftModel:
    """Goes on as the target will, a few tokens at a time; every third chain errs in its last token."""

    def __init__(self, target: ScriptedTarget, length: int = 4) -> None:
        self._target, self._length = target, length
        self.begun: list[bool] = []  # with reuse or without
        self.asked: list[tuple[str, int]] = []  # prompt and output, and the limit

    def begin(self, *, reuse: bool = False) -> None:
        self.begun.append(reuse)

    def chain(self, tokens: Sequence[int], limit: int) -> Chain:
        self.asked.append(("".join(map(chr, tokens)), limit))
        target = self._target
        text = target.prompts[-1]
        answer = target.answers if isinstance(target.answers, str) else target.answers[text]
        said = [*map(ord, answer), END][len(tokens) - len(text) :][: min(limit, self._length)]
        if said and len(self.asked) % 3 == 0:
            said[-1] = ord("!")
        return Chain(tuple(said), (0.9,) * len(said))


class StubSidecar:
    """Publishes what a test tells it to. Its waves end when ``finish`` is called, or never."""

    def __init__(self) -> None:
        block = memoryview(bytearray(CHANNEL_SIZE))
        self.reader, self.writer = HintReader(block), HintWriter(block)
        self.launched: list[Address] = []
        self.cancelled: list[Address] = []
        self.at_launch: Hint | None = None
        self.report: WaveReport | None = None  # what a wave returns at once, if ``ends``
        self.ends = False

    @property
    def current(self) -> Address:
        return self.launched[-1]

    def publish(self, hint: Hint = HINT, address: Address | None = None) -> int | None:
        return self.writer.publish(address or self.current, hint, time.monotonic_ns())

    async def wave(self, address: Address, request: Request, *, reuse: bool = False) -> WaveReport | None:
        self.launched.append(address)
        if self.at_launch is not None:
            self.publish(self.at_launch)
        if self.ends:
            return self.report
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled.append(address)
            raise
        raise AssertionError("unreachable")

    async def close(self) -> None:
        return


class YieldingExecutor:
    """Runs calls on the caller's thread, after every other task has had its turn."""

    async def run(self, call: Callable[[], T]) -> T:
        await asyncio.sleep(0)
        return call()

    def close(self) -> None:
        return


def engine_of(
    target: ScriptedTarget,
    sidecar: SidecarPort | None = None,
    *,
    executor: Executor | None = None,
    draft_model: DraftPort | None = None,
    method: str = "oospec",
    finish_waves: bool = False,
) -> Engine:
    return Engine(
        Parts(
            target=target,
            executor=executor or InlineExecutor(),
            prompts=StubPrompts(),
            codec=CharCodec(),
            curve=VerifyCurve(),
            sidecar=sidecar,
            draft_model=draft_model,
            method=method,
            record=True,
            finish_waves=finish_waves,
        )
    )


def served(engine: Engine, request: Request | None = None, method: str | None = None) -> Completion:
    return asyncio.run(engine.generate(request or ask(), method))
