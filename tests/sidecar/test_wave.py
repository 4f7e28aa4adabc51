"""The wave: all slots decoded together in one tree give what each of them would give alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from helpers import tiny
from helpers.scripted import VOCABULARY, scripted
from oospec_async.errors import OospecError
from oospec_async.hints import CallHint, Hint, decode_hint, encode_hint
from oospec_async.request import Request, Tool
from oospec_async.sidecar.answers import Answer, is_finished, read_answer
from oospec_async.sidecar.name_tree import NameTree
from oospec_async.sidecar.questions import EXAMPLE, Slot, prefix, slot_question
from oospec_async.sidecar.value_masks import ValueMasks
from oospec_async.sidecar.wave import Sidecar, Wave
from oospec_async.target.tree_model import TreeModel

MASKS = ValueMasks(tiny.codec(), VOCABULARY)
ENDS = frozenset({tiny.token("<|im_end|>"), 7, 8, 9})
SCRIPT = {
    "call 1 =": " get_weather\n",
    "call 2 =": " none\n",
    "get_weather: city =": ' "Saint-Michel-sur-Orge"',
    "get_weather: days =": " 3\n",
    "get_weather: unit =": " null\n",
    "get_weather: alerts =": " true\n",
    "get_order: id =": f" {'1234567890' * 4}\n",
    "get_order: items =": ' ["a", "b"]',
    "get_order: address =": ' {"street": "x"}',
}


def hints(sidecar: Sidecar, request: Request) -> list[Hint]:
    return [p.hint for p in Wave(sidecar, request).run() if p.hint is not None]


def branches(sidecar: Sidecar, request: Request) -> list[int]:
    """How many each step extended."""
    return [p.branches for p in Wave(sidecar, request).run() if p.kind == "step"]


def slots(request: Request) -> list[Slot]:
    return [Slot(tool.name, parameter) for tool in request.tools for parameter in tool.slots]


# --- with a real model: the tree is separate decoding ---------------------------------------------------------------


def alone(model: Any, text: str, slot: Slot) -> Answer | None:
    """Plain decoding of prefix and question, one forward over the whole sequence per token."""
    question = slot_question(slot)
    prompt = [token for part in (text, question.stem, question.ask) for token in tiny.codec().encode(part)]
    answer: list[int] = []
    while len(answer) < 48:
        with torch.inference_mode():
            logits = model(torch.tensor([prompt + answer]), use_cache=False).logits[0, -1]
        token = MASKS.pick(logits, slot.parameter, begun=bool(answer))
        if token in ENDS:
            break
        answer.append(token)
        if is_finished(tiny.codec().decode(answer)):
            break
    else:
        return None
    return read_answer(tiny.codec().decode(answer), slot.parameter)


NUMBERS = Tool(
    name="plan",
    parameters={
        "properties": {
            "a": {"type": "integer"}, "b": {"type": "number"}, "c": {"type": "boolean"}, "d": {"type": "string"},
            "e": {}, "f": {"type": "array"}, "g": {"type": "integer"},
        },
        "required": ["a", "b", "c"],
    },
)  # fmt: skip


@pytest.mark.parametrize("family", tiny.FAMILIES)
def test_every_slot_is_answered_as_if_it_were_asked_alone(family: str) -> None:
    answered = 0
    for seed, tools in enumerate([(NUMBERS,), (NUMBERS, tiny.TIME), (tiny.WEATHER, NUMBERS)]):
        model = tiny.random_model(family, seed=seed, std=0.4)
        request = tiny.request("Plan 3 of 4.", tools=tools)
        wave = Wave(Sidecar(TreeModel(model), tiny.codec(), MASKS, ENDS), request)
        last = [p.hint for p in wave.run() if p.hint is not None][-1]
        call = last.calls[0]
        for slot in slots(request):
            if slot.function == call.function:
                answer = alone(model, prefix(request), slot)
                name = slot.parameter.name
                assert (name in call.omitted) == (answer is not None and answer.omitted)
                assert (name in call.arguments) == (answer is not None and not answer.omitted)
                if name in call.arguments:
                    assert answer is not None
                    assert call.arguments[name] == answer.value
                answered += answer is not None
    assert answered >= 2


def test_answers_are_the_same_where_the_function_is_chosen_first() -> None:
    request = tiny.request("Plan 3 of 4.", tools=(tiny.WEATHER, NUMBERS))
    model = TreeModel(tiny.random_model("llama", seed=2, std=0.4))
    together, after = (Sidecar(model, tiny.codec(), MASKS, ENDS, early_slots=early) for early in (32, 8))
    assert [branches(sidecar, request)[0] for sidecar in (together, after)] == [2 + len(slots(request)), 2]
    assert hints(after, request)[-1].calls == hints(together, request)[-1].calls


@pytest.mark.parametrize("seed", range(4))
def test_every_hint_is_valid_for_the_tools_and_adds_to_the_one_before(seed: int) -> None:
    model = tiny.random_model("qwen2", seed=seed, std=0.5)
    request = tiny.request(tools=(*tiny.TOOLS, NUMBERS))
    found = hints(Sidecar(TreeModel(model), tiny.codec(), MASKS, ENDS), request)
    assert [hint.version for hint in found] == list(range(1, len(found) + 1))
    ready = 0
    for hint in found:
        assert decode_hint(encode_hint(hint), hint.version, request.tools) == hint
        assert hint.calls[0].function == found[0].calls[0].function
        assert hint.ready_slots >= ready
        ready = hint.ready_slots


def test_a_wave_leaves_the_model_usable_for_the_next_one_even_where_it_was_cancelled() -> None:
    sidecar = Sidecar(TreeModel(tiny.random_model("qwen3", std=0.4)), tiny.codec(), MASKS, ENDS)
    first = hints(sidecar, tiny.request())
    cancelled = Wave(sidecar, tiny.request("Something else?")).run()
    for _ in range(3):
        next(cancelled)
    del cancelled
    assert hints(sidecar, tiny.request()) == first


def test_a_prompt_longer_than_the_context_raises_and_the_next_wave_runs() -> None:
    sidecar = Sidecar(TreeModel(tiny.random_model("llama", std=0.4)), tiny.codec(), MASKS, ENDS)
    with pytest.raises(OospecError, match="context of 512"):
        hints(sidecar, tiny.request("word " * 600))
    assert hints(sidecar, tiny.request())


def test_branches_that_reach_the_end_of_the_context_raise() -> None:
    request = tiny.request(tools=(NUMBERS,))
    length = len(tiny.codec().encode(prefix(request)))
    sidecar = Sidecar(TreeModel(tiny.random_model("llama", context=length + 4)), tiny.codec(), MASKS, ENDS)
    wave = Wave(sidecar, request).run()
    next(wave)
    with pytest.raises(OospecError):
        list(wave)


# --- with a scripted sidecar: what is asked, and when what is known is told ---


def test_hints_are_told_as_the_function_and_its_slots_become_known_and_the_last_one_holds_them_all() -> None:
    found = hints(scripted(SCRIPT)[0], tiny.request())
    assert [hint.ready_slots for hint in found] == [0, 3, 4]  # the city's name is long
    arguments = {"city": "Saint-Michel-sur-Orge", "days": 3, "alerts": True}
    assert found[-1].calls == (CallHint("get_weather", arguments, frozenset({"unit"})),)


def test_branches_of_functions_that_were_not_chosen_end() -> None:
    sidecar, _ = scripted(SCRIPT)
    steps = branches(sidecar, tiny.request())
    assert steps[0] == 2 + 4 + 3
    decided = next(i for i, p in enumerate(Wave(sidecar, tiny.request()).run()) if p.hint is not None)
    assert all(count <= 4 for count in steps[decided:])
    longest = max(len(tiny.codec().encode(SCRIPT[f"get_weather: {s}"])) for s in ("city =", "days =", "alerts ="))
    assert len(steps) <= longest + 2 < len(tiny.codec().encode(SCRIPT["get_order: id ="]))


def test_one_tool_needs_no_choice_and_is_told_with_the_prefill() -> None:
    sidecar, model = scripted(SCRIPT)
    first = next(Wave(sidecar, tiny.request(tools=(tiny.WEATHER,))).run())
    assert first.kind == "prefill"
    assert first.hint is not None
    assert first.hint.calls[0].function == "get_weather"
    assert hints(sidecar, tiny.request(tools=(tiny.WEATHER,)))[-1].ready_slots == 4
    assert "call 1 =" not in model.asked


def test_a_function_without_slots_is_a_whole_hint() -> None:
    sidecar, _ = scripted(SCRIPT)
    assert len(hints(sidecar, tiny.request(tools=(tiny.TIME,)))) == 1


def test_without_tools_there_is_no_wave() -> None:
    sidecar, model = scripted(SCRIPT)
    assert list(Wave(sidecar, tiny.request(tools=())).run()) == []
    assert model.forwards == []


def test_the_prefix_is_read_once_and_every_step_is_one_forward() -> None:
    sidecar, model = scripted(SCRIPT)
    steps = [p for p in Wave(replace(sidecar, example=EXAMPLE), tiny.request()).run() if p.kind == "step"]
    assert model.forwards[0] == len(tiny.codec().encode(EXAMPLE + prefix(tiny.request())))
    assert len(model.forwards) == 1 + len(steps)
    assert model.forwards[2:] == [step.tokens for step in steps[1:]]


def test_a_function_with_more_slots_than_branches_gets_the_first_ones() -> None:
    tool = Tool(name="wide", parameters={"properties": {f"p{n:02}": {"type": "integer"} for n in range(40)}})
    sidecar, _ = scripted({"call 2 =": " none\n"} | {f"wide: p{n:02} =": f" {n}\n" for n in range(40)})
    (call,) = hints(sidecar, tiny.request(tools=(tool,)))[-1].calls
    assert call.arguments == {f"p{n:02}": n for n in range(32)}


def test_a_function_is_chosen_by_its_whole_name_in_one_step() -> None:
    """A first token that is likelier than another does not decide."""
    names = NameTree({"ab": [1, 2, 9], "cd": [3, 4, 9], "ce": [3, 5, 9]})
    assert len(names.tokens) == 5  # the shared beginning once, line ends not at all
    logits = torch.zeros(6, 10)
    logits[0, 3], logits[0, 1] = 2.0, 1.5  # after the question
    logits[1 + names.tokens.index(1), 2] = 9.0
    for node, token in enumerate(names.tokens):
        if token in (2, 4, 5):
            logits[1 + node, 9] = 9.0
    assert names.best(logits) == "ab"


@pytest.mark.parametrize("chosen", ["get", "get_all", "get_all_now", "put"])
def test_a_name_that_begins_another_can_lose_against_it_and_win(chosen: str) -> None:
    tools = tuple(Tool(name=name) for name in ("get", "get_all", "get_all_now", "put"))
    sidecar, _ = scripted({"call 1 =": f" {chosen}\n", "call 2 =": " none\n"})
    assert hints(sidecar, tiny.request(tools=tools))[-1].calls[0].function == chosen


def test_whatever_the_sidecar_says_a_function_on_offer_is_chosen() -> None:
    sidecar, _ = scripted({"call 1 =": " rm_rf\n"})
    assert hints(sidecar, tiny.request())[-1].calls[0].function in {"get_weather", "get_order", "now"}


@pytest.mark.parametrize(
    "answer",
    [" \n", " [1, 2\n", ' "a" and more', ' "\\ud800"', " {}", ' "' + "x" * 200, " nonsense\n", ' "no end', " null\n"],
)
def test_an_answer_that_is_no_value_of_its_kind_leaves_its_slot_not_ready_and_the_others_as_they_are(
    answer: str,
) -> None:
    sidecar, _ = scripted(SCRIPT | {"get_weather: alerts =": answer, "get_weather: city =": answer})
    final = hints(sidecar, tiny.request(tools=(tiny.WEATHER,)))[-1]
    assert final.calls[0].arguments["days"] == 3
    assert decode_hint(encode_hint(final), final.version, tiny.TOOLS) == final
