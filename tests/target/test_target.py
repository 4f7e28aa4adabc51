"""The target as a port: prefill begins a request, each verify keeps a path and runs a tree."""

from __future__ import annotations

from itertools import pairwise

import pytest

from helpers import tiny
from oospec_async.target.greedy import TOP_K
from oospec_async.target.target import Target

MODEL = tiny.random_model("qwen2", std=0.5)
PROMPT = list(range(40, 60))


@pytest.fixture
def target() -> Target:
    return tiny.target_of(MODEL)


def test_the_port_tells_its_limits_and_prefill_answers_for_the_prompts_last_token(target: Target) -> None:
    assert (target.context, target.vocabulary) == (tiny.CONTEXT, len(tiny.tokenizer()) + tiny.PADDING)
    assert target.end_tokens == frozenset()
    step = target.prefill(PROMPT)
    assert step.predicted == tiny.generate(MODEL, PROMPT, 1)
    assert len(step.successors) == len(step.margins) == 1
    assert step.successors[0][0] == step.predicted[0]
    assert len(step.successors[0]) == TOP_K
    assert step.state is not None
    assert step.state.shape == (MODEL.config.hidden_size,)
    assert step.start_ns < step.end_ns


def test_verify_answers_for_every_node(target: Target) -> None:
    free = tiny.generate(MODEL, PROMPT, 6)
    target.prefill(PROMPT)
    step = target.verify([0], [free[0], free[1], 7, free[2]], [-1, 0, 0, 1])
    assert [step.predicted[node] for node in (0, 1, 3)] == free[1:4]
    assert step.predicted[2] == tiny.generate(MODEL, [*PROMPT, free[0], 7], 1)[0]
    step = target.verify([0, 1, 3], [free[3], free[4]], [-1, 0])
    assert list(step.predicted) == free[4:6]
    assert step.state is None


def test_calibration_gives_a_curve_that_never_falls_and_leaves_no_trace(target: Target) -> None:
    curve = target.calibrate()
    assert [size for size, _ in curve.samples] == [1, 2, 4, 8, 16, 32, 48]
    assert all(0 < a[1] <= b[1] for a, b in pairwise(curve.samples))
    assert target.prefill(PROMPT).predicted == tiny.generate(MODEL, PROMPT, 1)


def test_a_small_context_is_calibrated_with_the_trees_that_fit() -> None:
    curve = tiny.target_of(tiny.random_model("llama", context=20)).calibrate()
    assert [size for size, _ in curve.samples] == [1, 2, 4, 8]
