"""API-Bank's training rows: tools found on the way, calls that are not Python, replies."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.training import call, requests_of

SEARCHER = '{"apiCode": "ToolSearcher", "description": "Search.", "parameters": {"keywords": {"type": "str"}}}'
FOUND = "{'name': 'Water', 'description': 'The user's plants.', 'input_parameters': {'litres': {'type': float}}}"


def row(*lines: str, output: str = "API-Request: [Water(litres=2)]") -> dict[str, str]:
    return {"instruction": "", "input": "\n".join([SEARCHER, *lines, "Generate API Request: "]), "output": output}


def test_tools_are_those_that_the_prompt_has_described_so_far(tmp_path: Path) -> None:
    search = f"API-Request: [ToolSearcher(keywords='water')]->{FOUND}"
    user = "User: Water the plants.TIME: 2034-04-15 10:00:00"
    rows = [row(user, output="API-Request: [ToolSearcher(keywords='water')]"), row(user, search)]
    (first, second), rules = requests_of("api-bank-train", tmp_path, *rows)
    assert [tool["function"]["name"] for tool in first["tools"]] == ["ToolSearcher"]
    assert first["gold"] == [call("ToolSearcher", keywords="water")]
    assert first["messages"] == [
        {"role": "system", "content": "The current time is 2034-04-15 10:00:00."},
        {"role": "user", "content": "Water the plants."},
    ]
    assert [tool["function"]["name"] for tool in second["tools"]] == ["ToolSearcher", "Water"]
    assert second["tools"][1]["function"]["description"] == "The user's plants."
    assert second["tools"][1]["function"]["parameters"]["properties"] == {"litres": {"type": "float"}}
    asked, answered = second["messages"][2:]
    assert asked["tool_calls"][0]["function"] == {"name": "ToolSearcher", "arguments": '{"keywords": "water"}'}
    assert (answered["role"], answered["tool_call_id"]) == ("tool", asked["tool_calls"][0]["id"])
    assert second["gold"] == [call("Water", litres=2)]
    assert rules == {}


@pytest.mark.parametrize(
    ("output", "gold", "rule"),
    [
        ("API-Request: [A(who=John Smith)]", [call("A", who="John Smith")], "call that is not Python"),
        ("API-Request: A(who='x')", [call("A", who="x")], "call that is not Python"),
        ("API-Request: [A(n=1), A(n=2)]", [call("A", n=1), call("A", n=2)], None),
        ("AI: It is done.", None, "answer is a reply and no call; row left out"),
        ("API-Request: [broken", None, "answer that cannot be read as calls; row left out"),
    ],
)
def test_odd_answers_are_read_by_rule_or_left_out_and_counted(
    tmp_path: Path, output: str, gold: object, rule: str | None
) -> None:
    made, rules = requests_of("api-bank-train", tmp_path, row("User: Hi", output=output))
    assert [request["gold"] for request in made] == ([] if gold is None else [gold])
    assert list(rules.values()) == ([] if rule is None else [1])
    assert rule is None or next(iter(rules)).startswith(rule)


def test_unreadable_steps_and_results_are_counted(tmp_path: Path) -> None:
    rows = row(
        "User: Hi",
        "API-Request: [ToolSearcher(keywords='a')]->no literal",
        "API-Request: what->{}",
        "AI: Which plants?",
        "User: All.",
    )
    (made,), rules = requests_of("api-bank-train", tmp_path, rows)
    assert [message["role"] for message in made["messages"]] == ["user", "assistant", "tool", "assistant", "user"]
    assert rules == {
        "search whose result cannot be read; its tool is left out": 1,
        "earlier step that cannot be read as calls; left out of the messages": 1,
    }
