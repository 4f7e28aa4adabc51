"""Rows of BFCL to requests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from helpers.prepared import AREA, answer, bfcl, made, question


def gold(capfdbinary: pytest.CaptureFixture[bytes], folder: Path, accepted: Any) -> tuple[Any, str]:
    (request,), err = made(capfdbinary, "bfcl", bfcl(folder, [question()], [answer(accepted)]))
    return request["gold"][0]["arguments"], err


def test_a_bfcl_row_keeps_its_functions_as_they_are(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    source = bfcl(tmp_path, [question()], [answer({"width": [3.0, 3], "depth": [4.0], "unit": ["", "m²"]})])
    (request,), err = made(capfdbinary, "bfcl", source)
    assert request == {
        "id": "rooms_0",
        "messages": question()["question"][0],
        "tools": [{"type": "function", "function": AREA}],
        "gold": [{"name": "geometry.area", "arguments": {"width": 3.0, "depth": 4.0}}],
    }
    assert err == f"{source}: 1 requests\n"


def test_the_first_accepted_value_of_each_leaf_is_gold(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    accepted = {
        "width": [None, 3],
        "depth": [4],
        "corners": [[{"x": [1, 2], "y": ["", 0]}, {"x": [5]}]],
        "floor": [{"name": ["", "ground"], "colour": ["", "red"], "plan": [{"x": [1]}], "tiles": [["a", "b"]]}, "any"],
    }
    arguments, err = gold(capfdbinary, tmp_path, accepted)
    assert arguments == {
        "width": None,
        "depth": 4,
        "corners": [{"x": 1}, {"x": 5}],
        "floor": {"name": "ground", "plan": {"x": [1]}, "tiles": ["a", "b"]},
    }
    assert '1 x gold: "" comes first for a required argument' in err


def test_odd_accepted_values_are_counted(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    accepted = {"width": [""], "depth": [], "unit": "m²", "height": [1]}
    arguments, err = gold(capfdbinary, tmp_path, accepted)
    assert arguments == {"width": "", "unit": "m²", "height": 1}
    notes = [line for line in err.split("\n") if line.startswith("note: ")]
    assert [note.split(" (first: ")[0] for note in notes] == [
        'note: 1 x gold: "" comes first for a required argument; the next value, if any, is taken',
        "note: 1 x gold: no value is accepted; argument left out",
        "note: 1 x gold: a value where a list of accepted values belongs; taken as the only one",
        "note: 1 x gold passes an argument that the schema lacks; kept",
        "note: 1 x gold leaves out a required argument; kept",
    ]
    assert notes[0].endswith("possible_answer/BFCL_v4_rooms.json:1)")
    assert notes[4].endswith("BFCL_v4_rooms.json:1)")


def test_malformed_bfcl_rows_are_mended_by_rule_and_counted(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    turn = question()["question"][0]
    schemaless = {"name": "noop", "description": "", "parameters": {"type": "dict", "properties": ["a"]}}
    rows = [
        question(question=[turn, turn]),
        question(function=[AREA, {**AREA, "description": "again"}, schemaless]),
        question(id="unanswered", function=[]),
    ]
    source = bfcl(tmp_path, rows, [answer({"width": [3], "depth": [4]}, ground_truth=[{"none": {}}, {"none": {}}])])
    requests, err = made(capfdbinary, "bfcl", source)
    assert [request["id"] for request in requests] == ["rooms_0", "rooms_0-2", "unanswered"]
    assert [len(request["messages"]) for request in requests] == [1, 1, 1]
    assert [tool["function"]["name"] for tool in requests[1]["tools"]] == ["geometry.area", "noop"]
    assert requests[1]["tools"][0]["function"] == AREA
    assert ["gold" in request for request in requests] == [True, True, False]
    for note in (
        f"1 x later turns left out; a request is the first turn (first: {source}:1)",
        f"1 x tool listed twice; the first is kept (first: {source}:2)",
        f"1 x id used twice; a number is appended (first: {source}:2)",
        f"1 x row without accepted answers; no gold (first: {source}:3)",
        f"4 x gold calls a tool that the row does not list; kept (first: {source}:1)",
    ):
        assert f"note: {note}\n" in err


def test_without_answers_there_is_no_gold_and_for_irrelevance_gold_is_no_call(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    (request,), err = made(capfdbinary, "bfcl", bfcl(tmp_path, [question()]))
    assert "gold" not in request
    assert "note: 1 x no file of accepted answers in possible_answer/; requests have no gold" in err
    source = bfcl(tmp_path, [question()], name="BFCL_v4_live_irrelevance.json")
    (request,), err = made(capfdbinary, "bfcl", source)
    assert request["gold"] == []
    assert "note" not in err
