"""Chats in OpenAI's format."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from helpers.training import asking, call, function, requests_of


def calls(*functions: dict[str, Any]) -> dict[str, Any]:
    listed = [{"id": f"c{n}", "type": "function", "function": each} for n, each in enumerate(functions)]
    return {"role": "assistant", "content": None, "tool_calls": listed}


USER = {"role": "user", "content": "Hi"}
WATER = function("water", "litres")


def test_each_turn_with_calls_is_an_answer(tmp_path: Path) -> None:
    first, second = calls({"name": "water", "arguments": '{"litres": "2"}'}), calls({"name": "water", "arguments": {}})
    done = {"role": "tool", "tool_call_id": "c0", "content": "ok"}
    (one, two, three), rules = requests_of("openai", tmp_path, {
        "messages": [USER, first, done, USER, second, done, {"role": "assistant", "content": "Done."}],
        "tools": [WATER["function"]],
    })  # fmt: skip
    assert [request["id"] for request in (one, two, three)] == ["rows-1-at-1", "rows-1-at-4", "rows-1"]
    assert [len(request["messages"]) for request in (one, two, three)] == [1, 4, 6]
    assert [request["gold"] for request in (one, two, three)] == [[call("water", litres="2")], [call("water")], []]
    assert all(request["tools"] == [WATER] for request in (one, two, three))
    assert rules == {}


def test_a_request_line_keeps_its_id_and_gold(tmp_path: Path) -> None:
    rows = [asking("a", WATER, gold=[call("water", litres="2")]), asking("b", WATER), asking("c", tools_in_prompt=True)]
    made, _ = requests_of("openai", tmp_path, *rows)
    assert [request["id"] for request in made] == ["id-a", "id-b", "id-c"]
    assert made[0]["gold"] == [call("water", litres="2")]
    assert made[0]["accepted"] == [{"name": "water", "arguments": {"litres": ["2"]}, "optional": []}]
    assert "gold" not in made[1]
    assert made[2]["tools_in_prompt"] is True


def test_calls_that_are_no_json_leave_their_turn_out(tmp_path: Path) -> None:
    rows = [
        {"messages": [USER, calls({"name": "water", "arguments": text})], "tools": [WATER]} for text in ("{", "[1]")
    ]
    made, rules = requests_of("openai", tmp_path, *rows)
    assert made == []
    assert rules == {"calls whose arguments are no JSON object; turn left out": 2}
