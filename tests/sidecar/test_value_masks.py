"""The masks keep answers to values of their kind."""

from __future__ import annotations

import pytest
import torch

from helpers import tiny
from helpers.scripted import VOCABULARY
from oospec_async.request import Parameter
from oospec_async.sidecar.value_masks import ValueMasks

MASKS = ValueMasks(tiny.codec(), VOCABULARY)


def allowed(kind: str, *, required: bool = True, begun: bool = False) -> set[str]:
    """What the masks allow, found by asking with each token preferred."""
    parameter = Parameter(name="p", schema_={"type": kind}, required=required)
    picked = set()
    for token in range(VOCABULARY):
        logits = torch.zeros(VOCABULARY)
        logits[token] = 20.0
        if MASKS.pick(logits, parameter, begun) == token:
            picked.add(tiny.codec().decode([token]))
    return picked


@pytest.mark.parametrize(
    ("kind", "options", "good", "bad"),
    [
        ("string", {}, {' "'}, {" x", ""}),  # nor ids without a text
        ("string", {"begun": True}, {"a", '"', "}"}, set()),
        ("integer", {}, {" "}, {"x"}),
        ("integer", {"begun": True}, {"1", "\n"}, {"a", '"', " null"}),
        ("number", {}, {" "}, {" null"}),
        ("array", {}, {' ["'}, {' {"'}),
        ("object", {}, {' {"'}, {' ["'}),
        ("any", {}, {"a", " null", ' ["', ' {"'}, set()),
    ],
)  # fmt: skip
def test_an_answer_begins_and_goes_on_like_a_value_of_its_kind(
    kind: str, options: dict[str, bool], good: set[str], bad: set[str]
) -> None:
    found = allowed(kind, **options)
    assert good <= found
    assert not bad & found


def test_a_truth_value_is_one_of_two_words_and_null_where_it_may_be_left_out() -> None:
    assert allowed("boolean") == {" true", " false"}
    assert allowed("boolean", required=False) == {" true", " false", " null"}


@pytest.mark.parametrize(("margin", "null"), [(0.5, False), (3.0, True)])
def test_a_null_is_taken_only_where_it_is_certain(margin: float, null: bool) -> None:
    logits = torch.full((VOCABULARY,), -20.0)
    logits[tiny.token(" true")], logits[tiny.token(" null")] = 0.0, margin
    picked = MASKS.pick(logits, Parameter(name="p", schema_={"type": "boolean"}), begun=False)
    assert tiny.codec().decode([picked]) == (" null" if null else " true")


def test_a_kind_for_which_the_vocabulary_has_no_beginning_is_not_masked() -> None:
    class Letters:
        def decode(self, ids: list[int]) -> str:
            return "".join(chr(97 + token) for token in ids)

    letters = ValueMasks(Letters(), 26)  # type: ignore[arg-type]
    boolean = Parameter(name="p", schema_={"type": "boolean"}, required=True)
    assert letters.pick(torch.arange(26.0), boolean, begun=False) == 25
