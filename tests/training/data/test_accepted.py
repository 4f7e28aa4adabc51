"""What an evaluation accepts: typed twins of texts, and BFCL's lists of values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from helpers.training import call, function, requests_of, write_rows
from oospec_async.training.data.readers.accepted import accepted, typed


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        ("970420", "integer", 970420),
        ("False", "boolean", False),
        ("['John', 'Jane']", "array", ["John", "Jane"]),
        ('{"a": 1}', "object", {"a": 1}),
        ("3.0", "number", 3.0),
        ("3.5", "integer", "3.5"),
        ("true", "integer", "true"),
        ("1", "boolean", "1"),
        ("5", "string", "5"),
        ("abc", "integer", "abc"),
        (5, "string", 5),
        ("1", "any", "1"),
    ],
)
def test_a_text_becomes_the_value_that_it_stands_for(value: Any, kind: str, expected: Any) -> None:
    assert typed(value, kind) == expected
    assert type(typed(value, kind)) is type(expected)


def test_gold_is_accepted_as_it_is_and_in_its_declared_type() -> None:
    tools = [function("f", "n", "on", "s", n={"type": "int"}, on={"type": "bool"})]
    tools += [{"type": "function", "function": {"name": "g", "parameters": []}}]  # refused with its request
    gold = [call("f", n="42", on="False", s="", extra="1"), call("g", n="42")]
    assert accepted(gold, tools) == [
        {
            "name": "f",
            "arguments": {"n": ["42", 42], "on": ["False", False], "s": [""], "extra": ["1"]},
            "optional": ["s"],
        },
        {"name": "g", "arguments": {"n": ["42"]}, "optional": []},
    ]


def bfcl(folder: Path, values: Any) -> tuple[dict[str, Any], dict[str, int]]:
    schema = {"type": "dict", "properties": {}, "required": ["must"]}
    turn = [{"role": "user", "content": "Hi"}]
    question = {"id": "q", "question": [turn], "function": [{"name": "f", "parameters": schema}]}
    write_rows(folder / "possible_answer" / "BFCL_v4_x.json", {"id": "q", "ground_truth": [{"f": values}]})
    (made,), rules = requests_of("bfcl", write_rows(folder / "BFCL_v4_x.json", question))
    return made["accepted"][0], rules


def test_every_value_that_bfcl_lists_is_accepted(tmp_path: Path) -> None:
    found, _ = bfcl(tmp_path, {"a": [1, True, 1], "b": ["", "x"], "none": [], "bare": "v", "n": [None, 2]})
    assert found["arguments"] == {"a": [1, True], "b": ["", "x"], "bare": ["v"], "n": [None, 2]}
    assert found["optional"] == ["b"]


def test_objects_are_listed_in_every_form(tmp_path: Path) -> None:
    found, _ = bfcl(tmp_path, {"o": [{"a": [1, 2], "b": ["", "x"]}], "l": [[{"a": [1]}, {"a": [2, 3]}]]})
    assert found["arguments"]["o"] == [{"a": 1}, {"a": 1, "b": "x"}, {"a": 2}, {"a": 2, "b": "x"}]
    assert found["arguments"]["l"] == [[{"a": 1}, {"a": 2}], [{"a": 1}, {"a": 3}]]


def test_an_explosion_of_forms_is_cut_and_counted(tmp_path: Path) -> None:
    found, rules = bfcl(tmp_path, {"o": [{f"k{n}": [1, 2, 3] for n in range(9)}]})
    assert len(found["arguments"]["o"]) == 256
    assert rules["accepted: over 256 forms of an object; the first are listed"] == 1


def test_api_bank_texts_are_accepted_as_numbers_too(tmp_path: Path) -> None:
    system = "**Available Tools**\n1. Name: Pay\nDescription: Pay.\nParameters: {'amount': {'type': 'int'}}\n"
    answer = [{"name": "Pay", "parameters": {"amount": "12"}}]
    rows = {"system": system, "user": "Pay 12", "answer": answer}
    (made,), _ = requests_of("api-bank", write_rows(tmp_path / "level-1.jsonl", rows))
    assert made["gold"] == [call("Pay", amount="12")]
    assert made["accepted"] == [{"name": "Pay", "arguments": {"amount": ["12", 12]}, "optional": []}]
