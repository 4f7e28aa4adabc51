"""The guide keeps answers to values of their kind."""

from __future__ import annotations

import pytest
import torch

from helpers import tiny
from helpers.scripted import VOCABULARY
from oospec_async.request import Parameter
from oospec_async.sidecar.value_masks import ValueMasks

MASKS = ValueMasks(tiny.codec(), VOCABULARY)


class Letters:
    """A vocabulary of letters alone."""

    def decode(self, ids: list[int]) -> str:
        return "".join(chr(97 + token) for token in ids)


def first_texts(kind: str, *, required: bool = True, begun: bool = False) -> set[str]:
    """What the guide allows, found by asking with each token preferred."""
    parameter = Parameter(name="p", schema_={"type": kind}, required=required)
    picked = set()
    for token in range(VOCABULARY):
        logits = torch.zeros(VOCABULARY)
        logits[token] = 20.0
        if MASKS.pick(logits, parameter, begun) == token:
            picked.add(tiny.codec().decode([token]))
    return picked


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        ("string", ' "', " x"), ("integer", " ", "x"), ("array", " [", " {"), ("object", " {", " ["),
        ("number", " ", " null"),
    ],
)  # fmt: skip
def test_an_answer_begins_like_a_value_of_its_kind(kind: str, good: str, bad: str) -> None:
    found = first_texts(kind)
    assert bad not in found
    assert any(text.startswith(good) for text in found)


def test_a_number_goes_on_with_digits_or_ends() -> None:
    found = first_texts("integer", begun=True)
    assert {"1", "\n"} <= found
    assert not {"a", '"', " null"} & found


def test_a_string_goes_on_freely() -> None:
    assert {"a", '"', "}"} <= first_texts("string", begun=True)


def test_a_truth_value_is_one_of_two_words_and_null_where_it_may_be_left_out() -> None:
    assert first_texts("boolean") == {" true", " false"}
    assert first_texts("boolean", required=False) == {" true", " false", " null"}


@pytest.mark.parametrize(("margin", "null"), [(0.5, False), (3.0, True)])
def test_a_null_is_taken_only_where_it_is_certain(margin: float, null: bool) -> None:
    logits = torch.full((VOCABULARY,), -20.0)
    logits[tiny.token(" true")], logits[tiny.token(" null")] = 0.0, margin
    picked = MASKS.pick(logits, Parameter(name="p", schema_={"type": "boolean"}), begun=False)
    assert tiny.codec().decode([picked]) == (" null" if null else " true")


def test_a_kind_for_which_the_vocabulary_has_no_beginning_is_not_guided() -> None:
    letters = ValueMasks(Letters(), 26)  # type: ignore[arg-type]
    logits = torch.arange(26.0)
    assert letters.pick(logits, Parameter(name="p", schema_={"type": "boolean"}, required=True), begun=False) == 25


def test_an_unknown_kind_is_not_guided() -> None:
    assert len(first_texts("any")) > 100


def test_ids_without_text_are_never_the_beginning_of_a_string() -> None:
    assert "" not in first_texts("string")
