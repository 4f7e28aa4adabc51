"""What a wave asks next, and the calls that it knows."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from helpers import tiny
from oospec_async.hints import CallHint
from oospec_async.sidecar.answers import Answer
from oospec_async.sidecar.questions import NONE, Slot
from oospec_async.sidecar.wave_plan import WavePlan

NAMES = [tool.name for tool in tiny.TOOLS]


def asked(plan: WavePlan) -> list[tuple[str, int, str]]:
    return [(slot.function, slot.call, slot.parameter.name) for slot in plan.slots_to_ask(32)]


def test_two_calls_and_all_slots_are_asked_for_at_once() -> None:
    plan = WavePlan(tiny.TOOLS, 8, 32)
    assert list(plan.calls_to_ask()) == [1, 2]
    assert len(asked(plan)) == 7
    assert (list(plan.calls_to_ask()), asked(plan)) == ([], [])


def test_one_tool_is_called_first_whatever_else() -> None:
    plan = WavePlan((tiny.WEATHER,), 8, 32)
    assert plan.calls() == (CallHint("get_weather"),)
    assert list(plan.calls_to_ask()) == [2]


def test_a_function_that_is_called_twice_is_asked_for_twice() -> None:
    plan = WavePlan((tiny.WEATHER,), 8, 32)
    plan.calls_to_ask()
    assert [call for _, call, _ in asked(plan)] == [1, 1, 1, 1]
    plan.named(2, "get_weather")
    assert list(plan.calls_to_ask()) == [3]
    assert [call for _, call, _ in asked(plan)] == [2, 2, 2, 2]
    plan.answered(Slot("get_weather", tiny.WEATHER.slots[0], 2), Answer("Rome"))
    plan.named(3, NONE)
    assert list(plan.calls_to_ask()) == []
    assert plan.calls() == (CallHint("get_weather"), CallHint("get_weather", {"city": "Rome"}))


def test_a_function_is_wanted_until_every_call_is_known() -> None:
    plan = WavePlan(tiny.TOOLS, 8, 32)
    plan.calls_to_ask()
    plan.named(1, "now")
    assert plan.wants("get_order")
    plan.named(2, NONE)
    assert plan.wants("now")
    assert not plan.wants("get_order")


def test_a_call_after_one_that_is_not_known_is_not_told() -> None:
    plan = WavePlan(tiny.TOOLS, 8, 32)
    plan.calls_to_ask()
    plan.named(2, "now")
    assert plan.calls() == ()
    plan.named(1, "get_order")
    assert [call.function for call in plan.calls()] == ["get_order", "now"]


def test_with_many_slots_only_those_of_named_calls_are_asked_for() -> None:
    plan = WavePlan(tiny.TOOLS, 8, early_slots=6)
    plan.calls_to_ask()
    assert asked(plan) == []
    plan.named(1, "get_order")
    assert {function for function, _, _ in asked(plan)} == {"get_order"}


def test_there_is_a_first_call_and_perhaps_no_second() -> None:
    plan = WavePlan(tiny.TOOLS, 8, 32)
    assert plan.options(1) == NAMES
    assert plan.options(2) == [*NAMES, NONE]


@given(named=st.lists(st.sampled_from([*NAMES, NONE]), max_size=12), most=st.integers(1, 8))
def test_a_plan_comes_to_an_end_and_asks_nothing_twice(named: list[str], most: int) -> None:
    plan, slots, calls = WavePlan(tiny.TOOLS, most, 32), [], []
    answers = iter(named)
    for _ in range(30):
        new = list(plan.calls_to_ask())
        slots += asked(plan)
        if not new:
            break
        for number in new:
            calls.append(number)
            plan.named(number, next(answers, NONE) if number > 1 else NAMES[0])
    else:
        raise AssertionError("calls are asked for without end")
    assert len(set(slots)) == len(slots)
    assert calls == list(range(1, len(calls) + 1))
    assert 1 <= len(plan.calls()) <= most
