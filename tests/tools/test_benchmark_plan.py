"""Names of methods, their places, and their turns."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oospec_async import devices
from oospec_async.decoding.drafters.needs import HINTS
from oospec_async.errors import OospecError
from oospec_async.request import Message, Request
from tools.benchmark import plan
from tools.benchmark.methods import bounds
from tools.benchmark.options import Options


@pytest.fixture(autouse=True)
def four_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices.os, "sched_getaffinity", lambda process: {0, 1, 2, 3})


def options(pair: str = "cpu:1,cpu:3", **more: Any) -> Any:
    return Options(devices=pair, **more)


def test_what_shares_a_process_and_what_does_not() -> None:
    names = ["generate", "ar", "schema+hint", "ar/both", "generate/both", "oospec/reuse", "toolspec/reuse/both"]
    plans = plan.plan(names, options())
    workers = {each.name: each.worker for each in plans}
    assert workers["generate"] == workers["ar"] == workers["schema+hint"] == "main"
    assert workers["ar/both"] == workers["generate/both"] == "cpu 1,3"
    assert len({workers["oospec/reuse"], workers["toolspec/reuse/both"], "main", "cpu 1,3"}) == 4
    by_name = {each.name: each for each in plans}
    assert (by_name["ar/both"].devices, by_name["ar/both"].cores) == ("cpu", (1, 3))
    assert by_name["toolspec/reuse/both"].reuse
    assert by_name["oospec/reuse"].entry.needs == (HINTS,)


@pytest.mark.parametrize(
    ("names", "given_", "reason"),
    [
        ("ar,ar", {}, "names 'ar' twice"),
        ("fast", {}, "method 'fast': 'fast' is neither .*; the benchmark's own methods are generate, generate.lookup"),
        ("ar,schema+fast", {}, "'fast' is neither a method"),
        ("ar/twice", {}, "suffix '/twice' is unknown or there twice; suffixes are /both, /reuse, /cold"),
        ("ar/reuse/cold", {}, "/cold drops what /reuse keeps"),
        ("ar/both/both", {}, "'/both' is unknown or there twice"),
        ("oospec/both", {}, "/both leaves no device to a sidecar, and oospec needs one"),
        ("oospec@never/both", {}, "leaves no device to a sidecar"),
        ("ar/both", {"pair": "cuda:0,cuda:1"}, "/both joins two pinned cores"),
        ("ar/both", {"pair": "cpu:1,cpu:1"}, "/both joins two pinned cores"),
        ("ar/both", {"pair": "cpu"}, "/both joins two pinned cores"),
        ("generate/reuse", {}, "/reuse is the engine's, and generate is not"),
        ("oospec@perfect,toolspec", {}, "'oospec@perfect': is made from a plain output; add ar or generate"),
        ("draft", {}, "method 'draft' drafts with a model; name one with --draft-model"),
        ("generate+assistant", {}, "name one with --assistant"),
    ],
)
def test_a_method_that_cannot_be_is_refused_in_one_line(names: str, given_: dict[str, Any], reason: str) -> None:
    with pytest.raises(OospecError, match=reason) as refused:
        plan.plan(names.split(","), options(**given_))
    assert len(str(refused.value).splitlines()) == 1


def test_default_methods_are_those_that_the_devices_allow() -> None:
    assert [each.name for each in plan.default_plan(options(assistant="x/one"))] == list(plan.DEFAULT_METHODS)
    without = [name for name in plan.DEFAULT_METHODS if "/both" not in name and name != "generate+assistant"]
    assert [each.name for each in plan.default_plan(options("cuda:0,cuda:1"))] == without


@given(st.integers(2, 11), st.integers(0, 100))
def test_every_method_follows_every_other_one_equally_often(count: int, start: int) -> None:
    turns = [plan.balanced(list(range(count)), turn) for turn in range(start, start + 2 * count)]
    assert all(sorted(turn) == list(range(count)) for turn in turns)
    pairs = Counter(pair for turn in turns for pair in pairwise(turn))
    assert set(pairs.values()) == {2}
    assert len(pairs) == count * (count - 1)
    for place in range(count):
        assert set(Counter(turn[place] for turn in turns).values()) == {2}


@given(st.integers(0, 40))
def test_a_perfect_hint_has_its_output_before_it(turn: int) -> None:
    plans = plan.plan(["generate", "oospec@perfect", "ar", "pld"], options())
    names = [each.name for each in plan.method_order(plans, turn, first_run=True)]
    assert names.index("ar") < names.index("oospec@perfect")
    assert sorted(names) == ["ar", "generate", "oospec@perfect", "pld"]


def test_requests_are_shuffled_by_the_number_of_the_run() -> None:
    asked = [Request(messages=(Message(role="user", content="x"),), id=str(n)) for n in range(9)]
    orders = [[request.id for request in plan.request_order(asked, run)] for run in (0, 1, 1, 2)]
    assert orders[0] == [str(n) for n in range(9)]
    assert orders[1] == orders[2]
    assert len({tuple(each) for each in orders}) == 3


def test_the_perfect_hint_says_which_slots_are_left_out() -> None:
    from helpers.stubs import ask, call

    hint = bounds.perfect_hint("Well: " + call("Rome", 2), ask())
    assert [(c.function, c.arguments, c.omitted) for c in hint.calls] == [
        ("get_weather", {"city": "Rome", "days": 2}, frozenset())
    ]
    short = bounds.perfect_hint(
        '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Rome"}}\n</tool_call>', ask()
    )
    assert short.calls[0].omitted == {"days"}
    assert bounds.perfect_hint("No call.", ask()) is None
