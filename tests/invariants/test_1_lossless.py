"""Invariant 1: for every method and any hint the committed ids equal ``generate(do_sample=False)`` of the target."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import tiny
from helpers.calling import ANSWERS, call_hint, calling_model, greedy, honest, question
from helpers.loop import Adversary, HintAt, Run, decode, setting
from oospec_async.decoding.drafters import METHODS
from oospec_async.decoding.drafters.base import Drafter
from oospec_async.decoding.memory import Memory
from oospec_async.decoding.tree import DraftTree
from oospec_async.decoding.verify import Limits, Verdict, Verifier
from oospec_async.hints import Hint, decode_hint, encode_hint

VOCABULARY = len(tiny.tokenizer()) + tiny.PADDING
STD = 0.5  # of random weights


@pytest.fixture(params=tiny.FAMILIES)
def family(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


# --- models that write calls: the drafters have something to draft -----------------------------------------------


def wrong(number: int) -> Hint | None:
    return call_hint({"name": "get_weather", "arguments": {"city": "Par", "days": 30, "unit": 'cel"\\', "alerts": {}}})


def flickering(number: int) -> Hint | None:
    """Another garbled payload in every round, whatever of it survives reading."""
    chance = random.Random(number)
    values = [
        "Paris",
        "Pa",
        "\u0000\u2028ã",
        "<|im_end|>",
        "</tool_call>",
        "}" * 9,
        3,
        31,
        -1,
        None,
        True,
        [],
        {},
        ["a"],
    ]
    arguments = {slot: chance.choice(values) for slot in ("city", "days", "unit", "alerts", "id", "items", "address")}
    hint = call_hint({"name": chance.choice(["get_weather", "get_order", "now"]), "arguments": arguments})
    return decode_hint(encode_hint(hint), number, tiny.TOOLS)


METHOD_RUNS: dict[str, tuple[str, HintAt]] = {method: (method, lambda number: None) for method in METHODS}
METHOD_RUNS |= {f"oospec, {hint.__name__} hints": ("oospec", hint) for hint in (honest, wrong, flickering)}
METHOD_RUNS["all drafters"] = ("schema+history+lookup+recycle+hint", honest)


@pytest.mark.parametrize("run", METHOD_RUNS)
def test_a_model_that_writes_calls_gives_its_own_output_by_every_method(family: str, run: str) -> None:
    method, hints = METHOD_RUNS[run]
    expected = {name: greedy(name, family) for name in ANSWERS}
    target, memory = tiny.target_of(calling_model(family)), Memory()
    for name in ANSWERS:
        prompt, recollection = question(name), memory.recall(None)
        got = decode(target, setting(prompt, Limits(120, target.end_tokens), method=method, memory=recollection), hints)
        assert got.output == expected[name], name
        memory.learn(got.output, None, recollection, None)


# --- random models: everything may be emitted, and most drafts are wrong ------------------------------------------


def prompts() -> Iterator[list[int]]:
    chance = random.Random(7)
    for length in (1, 2, 3, 9, 40, 120):
        yield [chance.randrange(VOCABULARY) for _ in range(length)]


def adversarial(model: Any, prompt: Sequence[int], expected: Sequence[int], limits: Limits, seed: int = 0) -> Run:
    drafters: list[Drafter] = [Adversary(expected, VOCABULARY, seed)]
    target = tiny.target_of(model)
    limits = Limits(limits.max_new_tokens, target.end_tokens, limits.stop)
    return decode(target, setting(prompt, limits, drafters=drafters, vocabulary=target.vocabulary))


def test_random_and_nearly_right_drafts_change_nothing_and_a_fifth_of_them_at_least_is_rejected(family: str) -> None:
    drafted = rejected = 0
    for seed, prompt in enumerate(prompts()):
        model = tiny.random_model(family, seed=seed, std=STD)
        expected = tiny.generate(model, prompt, 60)
        got = adversarial(model, prompt, expected, Limits(60), seed)
        assert got.output == expected
        assert got.accepted > 10
        drafted, rejected = drafted + got.drafted, rejected + got.drafted - got.accepted
    assert rejected > 0.2 * drafted


@pytest.mark.parametrize("method", [*METHODS, "lookup+recycle+history"])
def test_methods_on_random_models_with_prompts_shorter_than_any_ngram(family: str, method: str) -> None:
    model = tiny.random_model(family, seed=3, std=STD)
    memory = Memory()
    target = tiny.target_of(model)
    for prompt in ([5], [5, 5], list(range(30, 60)) * 3):
        expected = tiny.generate(model, prompt, 40)
        recollection = memory.recall(None)
        got = decode(target, setting(prompt, Limits(40), method=method, memory=recollection), honest)
        assert got.output == expected
        memory.learn(got.output, None, recollection, None)


def test_ids_that_only_the_models_padded_vocabulary_has_are_emitted_alike(family: str) -> None:
    known, seen = len(tiny.tokenizer()), set()
    for seed in range(6):
        model = tiny.random_model(family, seed=seed, std=STD)
        expected = tiny.generate(model, [seed], 40)
        seen |= {token for token in expected if token >= known}
        got = decode(tiny.target_of(model), setting([seed], Limits(40), method="schema+lookup+recycle+hint"), honest)
        assert got.output == expected
    assert seen


# --- what the generation config and the request make of greedy ----------------------------------------------------


def free_output(family: str, prompt: Sequence[int], length: int = 50) -> tuple[Any, list[int]]:
    model = tiny.random_model(family, seed=11, std=STD)
    return model, tiny.generate(model, list(prompt), length)


@pytest.mark.parametrize("position", [0, 1, 13, 29])
def test_an_end_token_that_greedy_really_emits_ends_the_output_inside_a_block(family: str, position: int) -> None:
    prompt = list(range(20))
    model, free = free_output(family, prompt)
    model.generation_config.eos_token_id = [VOCABULARY - 1, free[position], tiny.token("<|im_end|>")]
    expected = tiny.generate(model, prompt, 50)
    assert len(expected) < 50
    runs = [adversarial(model, prompt, free, Limits(50), seed) for seed in range(8)]  # they draft what followed, too
    assert all(run.output == expected and run.state.finish == "stop" for run in runs)
    if position > 0:  # the first token comes from the prefill
        assert any(run.end_was_drafted for run in runs)


@settings(max_examples=20)
@given(
    family=st.sampled_from(tiny.FAMILIES),
    seed=st.integers(0, 9),
    length=st.integers(1, 50),
    penalty=st.sampled_from([None, 1.1, 1.3]),
    suppressed=st.sets(st.integers(0, 20), max_size=3),
    end=st.none() | st.integers(0, 49),
    method=st.sampled_from(["adversary", "lookup+recycle"]),
)
def test_penalty_suppressed_ids_ends_and_limits_are_applied_as_generate_applies_them(
    family: str, seed: int, length: int, penalty: float | None, suppressed: set[int], end: int | None, method: str
) -> None:
    """The penalty to every node with the tokens above it; drafts go on where the output ends."""
    prompt = list(range(20))
    model, free = free_output(family, prompt)
    config = model.generation_config
    config.repetition_penalty = penalty
    config.suppress_tokens = sorted({free[position] for position in suppressed}) or None
    ahead = tiny.generate(model, prompt, 50)
    ends = [VOCABULARY - 1] if end is None else [VOCABULARY - 1, ahead[end]]
    config.eos_token_id = ends
    expected = tiny.generate(model, prompt, length)
    if method == "adversary":
        got = adversarial(model, prompt, ahead, Limits(length), seed)
    else:
        target = tiny.target_of(model)
        got = decode(target, setting(prompt, Limits(length, target.end_tokens), method=method))
    assert got.output == expected
    assert got.state.finish == ("stop" if expected[-1] in ends else "length")


def stops_of(free: Sequence[int]) -> Iterator[str]:
    """Strings that the output really holds: a token, a part of one, and one that begins inside a token."""
    texts = [tiny.codec().decode([token]) for token in free]
    plain = [i for i, text in enumerate(texts) if text.strip() and text.isascii()]
    yield texts[plain[2]]
    yield texts[plain[3]][-1]
    for i, j in itertools.pairwise(plain):
        if j == i + 1 and i > 4:
            yield texts[i][-1] + texts[j][:1]
            break


def test_stop_strings_end_the_output_with_the_token_that_completes_them(family: str) -> None:
    prompt = list(range(20))
    model, free = free_output(family, prompt)
    for stop in stops_of(free):
        expected = tiny.generate(model, prompt, 50, stop_strings=[stop, "never \n said"], tokenizer=tiny.tokenizer())
        assert len(expected) < 50
        got = adversarial(model, prompt, free, Limits(50, stop=("never \n said", stop)))
        assert got.output == expected, stop
        assert got.state.finish == "stop"


def test_an_output_may_fill_the_context_and_drafts_that_would_cross_its_end_are_harmless(family: str) -> None:
    context = 64
    for seed, length in enumerate((1, 30, 58, 62, 63)):
        model = tiny.random_model(family, seed=seed, std=STD, context=context)
        prompt = [random.Random(seed).randrange(VOCABULARY) for _ in range(length)]
        expected = tiny.generate(model, prompt, context - length)
        assert adversarial(model, prompt, expected, Limits(context - length), seed).output == expected
        got = decode(tiny.target_of(model), setting(prompt, Limits(context - length), method="oospec"), honest)
        assert got.output == expected


# --- bfloat16, and the check itself --------------------------------------------------------------------------------


def test_in_bfloat16_outputs_part_only_at_near_ties(family: str, record_property: Any) -> None:
    for seed, prompt in enumerate(list(prompts())[::2]):
        model = tiny.random_model(family, seed=seed, std=STD, dtype=torch.bfloat16)
        expected = tiny.generate(model, prompt, 40)
        got = adversarial(model, prompt, expected, Limits(40), seed).output
        parted = next((i for i, (a, b) in enumerate(zip(got, expected, strict=True)) if a != b), None)
        if parted is None:
            continue
        with torch.inference_mode():
            logits = model(torch.tensor([prompt + expected[:parted]])).logits[0, -1].float()
        gap = float(logits[expected[parted]] - logits[got[parted]])
        record_property(f"bfloat16 row {seed} parts at {parted}", f"logit gap {gap}")
        assert abs(gap) < 0.02 * float(logits.abs().max())


def test_the_check_detects_a_verifier_that_accepts_one_wrong_token(monkeypatch: pytest.MonkeyPatch) -> None:
    true_verify, mistakes = Verifier.verify, list[int]()

    def accepts_a_wrong_one(self: Verifier, tree: DraftTree, predicted: Sequence[int]) -> Verdict:
        wrong = [token for token in tree.children[0] if token != predicted[0]]
        if wrong and not mistakes:
            mistakes.append(wrong[0])
            predicted = [wrong[0], *predicted[1:]]
        return true_verify(self, tree, predicted)

    prompt = list(range(20))
    model, free = free_output("qwen2", prompt)
    assert adversarial(model, prompt, free, Limits(50)).output == free
    monkeypatch.setattr(Verifier, "verify", accepts_a_wrong_one)
    assert adversarial(model, prompt, free, Limits(50)).output != free
    assert mistakes
