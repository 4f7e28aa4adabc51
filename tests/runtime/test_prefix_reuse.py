"""Reuse of prompts' beginnings: what is not read again changes nothing but time, and no method profits from another."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import tiny
from helpers.scripted import VOCABULARY
from helpers.stubs import CALL
from oospec_async.decoding.forward import TargetForward
from oospec_async.errors import OospecError
from oospec_async.events import WaveReport
from oospec_async.recording.assemble import make_trace
from oospec_async.request import Request
from oospec_async.runtime.engine import Engine
from oospec_async.sidecar.channel import Address
from oospec_async.sidecar.value_masks import ValueMasks
from oospec_async.sidecar.wave import Sidecar, Wave
from oospec_async.target.tree_model import TreeModel
from oospec_async.testing import ScriptedSidecar, ScriptedTarget, scripted_engine

MODEL = tiny.random_model("qwen2", std=0.5)
BEGINNING = list(range(40, 70))


@given(
    st.lists(
        st.tuples(st.integers(0, 30), st.lists(st.integers(0, 9), min_size=1, max_size=6), st.integers(0, 3)),
        min_size=2,
        max_size=5,
    )
)
def test_prompts_with_beginnings_alike_give_what_they_give_alone(asked: list[tuple[int, list[int], int]]) -> None:
    target, read = tiny.target_of(MODEL), list[int]()
    for shared, ending, rounds in asked:
        prompt = BEGINNING[:shared] + ending
        free = tiny.generate(MODEL, prompt, 2 * rounds + 1)
        step = target.prefill(prompt, reuse=True)
        assert list(step.predicted) == free[:1]
        alike = next((i for i, (a, b) in enumerate(zip(read, prompt, strict=False)) if a != b), len(read))
        assert step.reused == min(alike, len(prompt) - 1)
        path = [0]
        for number in range(rounds):
            first, second = free[2 * number], free[2 * number + 1]
            step = target.verify(path, [first, 7, second], [-1, 0, 0])
            assert step.predicted[2] == free[2 * number + 2]
            path = [0, 2]
        read = (prompt + free)[: target.model.trunk]


def test_a_prompt_that_was_read_before_leaves_its_last_token_to_read() -> None:
    target = tiny.target_of(MODEL)
    target.prefill(BEGINNING)
    assert target.prefill(BEGINNING).reused == 0
    step = target.prefill(BEGINNING, reuse=True)
    assert step.reused == len(BEGINNING) - 1
    assert list(step.predicted) == tiny.generate(MODEL, BEGINNING, 1)


def test_a_prompt_that_fails_leaves_nothing() -> None:
    target = tiny.target_of(MODEL)
    target.prefill(BEGINNING)
    with pytest.raises(OospecError):
        target.prefill(BEGINNING + [1] * tiny.CONTEXT, reuse=True)
    step = target.prefill([*BEGINNING, 3], reuse=True)
    assert step.reused == 0
    assert list(step.predicted) == tiny.generate(MODEL, [*BEGINNING, 3], 1)


def test_waves_over_the_same_tools_read_them_once_and_guess_the_same() -> None:
    masks = ValueMasks(tiny.codec(), VOCABULARY)
    kept = Sidecar(TreeModel(tiny.random_model("llama", context=2048)), tiny.codec(), masks, frozenset())
    alone = replace(kept, model=TreeModel(tiny.random_model("llama", context=2048)))
    asked = [tiny.request("Weather in Paris?"), tiny.request("My order?"), tiny.request("Now?", tiny.TOOLS[:1])]
    read = []
    for request in asked:
        steps = list(Wave(kept, request, reuse=True).run())
        assert [step.hint for step in steps] == [step.hint for step in Wave(alone, request).run()]
        read.append((steps[0].tokens, steps[0].context))
    whole = [next(iter(Wave(alone, request).run())).tokens for request in asked]
    assert [tokens + context for tokens, context in read] == whole
    assert read[0][1] == 0
    assert read[1][1] > read[1][0]  # three tools are longer than a message
    assert 0 < read[2][1] < read[1][1]


class Notes(ScriptedTarget):
    def __init__(self) -> None:
        super().__init__(CALL)
        self.reuse: list[bool] = []

    def prefill(self, prompt: Sequence[int], *, reuse: bool = False) -> TargetForward:
        self.reuse.append(reuse)
        return replace(super().prefill(prompt), reused=3 if reuse else 0)


class Listens(ScriptedSidecar):
    def __init__(self) -> None:
        super().__init__()
        self.reuse: list[bool] = []

    async def wave(self, address: Address, request: Request, *, reuse: bool = False) -> WaveReport | None:
        self.reuse.append(reuse)
        return None


def test_the_engine_asks_for_reuse_within_a_method_only() -> None:
    target, sidecar = Notes(), Listens()
    engine = Engine(replace(scripted_engine(target, sidecar).parts, reuse_prefix=True))
    for method in ("oospec", "oospec", "toolspec", "oospec", "oospec"):
        done = asyncio.run(engine.generate(tiny.request(), method))
        assert done.metrics.reused_tokens == (3 if target.reuse[-1] else 0)
    engine.forget()
    asyncio.run(engine.generate(tiny.request(), "oospec"))
    assert target.reuse == [False, True, False, False, True, False]
    assert sidecar.reuse == [False, True, False, True, False]


def test_without_the_setting_nothing_is_reused_and_a_trace_of_reused_prompts_is_refused() -> None:
    target = Notes()
    engine = scripted_engine(target, Listens())
    for _ in range(2):
        asyncio.run(engine.generate(tiny.request()))
    assert target.reuse == [False, False]
    engine = Engine(replace(engine.parts, reuse_prefix=True))
    done = [asyncio.run(engine.generate(tiny.request(id=name))) for name in ("a", "b")]
    with pytest.raises(OospecError, match="'b' reused 3 tokens"):
        make_trace(None, engine.recorder, [], done)  # type: ignore[arg-type]
