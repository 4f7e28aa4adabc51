"""The tables of docs/method.md are what the code does with the page's request."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers import walkthrough
from helpers.walkthrough import CALL, REQUEST, after
from oospec_async.decoding.tree import VerifyCurve
from oospec_async.sidecar.questions import prefix

PAGE = (Path(__file__).parent.parent / "docs" / "method.md").read_text(encoding="utf-8")


def shown(rows: list[str]) -> bool:
    """Whether the rows stand in the page as one whole table body."""
    return "|\n" + "\n".join(rows) + "\n\n" in PAGE


@pytest.mark.parametrize("text", [REQUEST.messages[0].content, CALL, prefix(REQUEST)], ids=("message", "call", "wave"))
def test_the_page_shows_the_request_that_is_run(text: str) -> None:
    assert text in PAGE


@pytest.mark.parametrize("method", ["toolspec", "oospec"])
def test_the_rounds_are_those_of_a_run(method: str) -> None:
    assert shown(walkthrough.round_rows(method))


def test_the_wave_is_one_that_ran() -> None:
    assert shown(walkthrough.wave_rows())


def test_the_methods_took_so_many_rounds() -> None:
    assert shown(walkthrough.method_rows())


EXAMPLES = [
    ("schema", "", False),
    ("schema", after(' "'), False),
    ("schema", after("summit"), False),
    ("schema", after("4"), False),
    ("history", after("get_forecast"), True),
    ("history", after("4"), True),
    ("recycle", after("unit"), True),
    ("lookup", after("Mount"), False),
    ("hint", "", False),
    ("hint", after('"place": "'), False),
    ("hint", after("4"), False),
    ("hint", '```json\n{\n  "name": "get_forecast",\n', False),
]


@pytest.mark.parametrize(("drafter", "text", "warm"), EXAMPLES, ids=lambda part: str(part)[-12:])
def test_a_drafter_says_what_its_example_says(drafter: str, text: str, warm: bool) -> None:
    assert shown(walkthrough.drafter_rows(drafter, text, warm=warm))


def test_the_arithmetic_of_the_budget_is_right() -> None:
    assert shown(walkthrough.budget_rows(0.45, 0.45, (0, 1, 2, 3, 4, 5, 6)))
    assert shown(walkthrough.budget_rows(0.8, 0.98, (0, 4, 8, 16, 32, 46, 48)))
    assert [walkthrough.kept(0.45, 0.45), walkthrough.kept(0.8, 0.98)] == [4, 46]


def test_the_lengths_of_unsure_chains_are_right() -> None:
    lengths = [VerifyCurve().longest(prior) for prior in (0.05, 0.12, 0.3, 0.6)]
    assert lengths == [4, 9, 22, 63]
    assert "leaves 4 tokens of a chain" in PAGE
    assert "0.05, 9 at 0.12, 22 at\n0.3, and all at 0.6" in PAGE
