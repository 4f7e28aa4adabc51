"""What counts as right."""

from __future__ import annotations

import pytest

from helpers import tiny
from oospec_async.hints import CallHint
from oospec_async.training.judge.score import Expected, Score, judge, same

REQUEST = tiny.request(tools=tiny.TOOLS)


def guess(name: str, *omitted: str, **arguments: object) -> CallHint:
    return CallHint(name, arguments, frozenset(omitted))


def expected(name: str, *optional: str, **values: list[object]) -> Expected:
    return Expected(name=name, arguments=values, optional=list(optional))


PARIS = expected("get_weather", "unit", city=["Paris", "paris"], days=[3], unit=["celsius"])


@pytest.mark.parametrize(
    ("made", "right", "nulls"),
    [
        (guess("get_weather", "unit", "alerts", city="paris", days=3.0), 4, {"hit": 1}),
        (guess("get_weather", "alerts", city="Paris", days=3, unit="celsius"), 4, {"hit": 1}),
        (guess("get_weather", "days", "alerts", city="Paris", unit="kelvin"), 2, {"hit": 1, "false": 1}),
        (guess("get_weather", city="Paris", days=True, alerts=False), 1, {"missed": 1}),
        (guess("get_weather"), 0, {"missed": 1}),
    ],
)
def test_arguments_are_judged_each_by_what_is_accepted(made: CallHint, right: int, nulls: object) -> None:
    score = Score()
    judge(REQUEST, [made], [PARIS], score)
    assert (score.functions, score.arguments, score.judged, score.judged_right) == (1, 4, 4, right)
    assert (score.whole, dict(score.nulls)) == (right == 4, nulls)


def test_a_wrong_function_spoils_its_arguments_and_they_are_not_judged_apart() -> None:
    score = Score()
    judge(REQUEST, [guess("now")], [PARIS], score)
    assert (score.functions, score.arguments, score.right, score.judged, score.whole) == (0, 4, 0, 0, 0)


def test_every_call_counts() -> None:
    score = Score()
    now = expected("now")
    judge(REQUEST, [guess("now")], [now, now], score)
    judge(REQUEST, [guess("now"), guess("now")], [now, now], score)
    judge(REQUEST, [guess("now"), guess("now"), guess("now")], [now, now], score)
    assert (score.requests, score.functions, score.sequences, score.whole) == (3, 3, 1, 1)


def test_without_an_expected_call_a_request_says_nothing() -> None:
    score = Score()
    judge(REQUEST, [guess("now")], [], score)
    assert score.as_json()["function"] is None
    assert score.requests == 0


def test_nulls_of_every_function_on_offer_are_counted_too() -> None:
    score = Score()
    judge(REQUEST, [guess("get_weather", "days", "alerts", city="Paris", unit="celsius")], [PARIS], score)
    assert score.all_nulls == {"hit": 1 + len(tiny.ORDER.slots), "false": 1}
    judge(REQUEST, [guess("get_order", "address", id=3)], [PARIS], score)
    assert score.all_nulls == {"hit": 1 + 3 + 1 + 2, "missed": 1, "false": 1 + 2}


def test_values_are_equal_as_json() -> None:
    assert same([1, {"a": 2.0}], [[1.0, {"a": 2}]])
    assert not same(True, [1])
    assert not same("1", [1])
    assert not same([1], [[1, 1]])
