"""ToolAlpaca: OpenAPI schemas, placeholders, optional and unknown actions, and training instances."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from helpers.training import call, requests_of

DOCUMENT = {
    "paths": {
        "/plants": {
            "get": {
                "operationId": "searchPlants",
                "summary": "Search.",
                "parameters": [
                    {"name": "query", "required": True, "description": "What", "schema": {"type": "string"}},
                    {"name": "size", "schema": {"type": "string", "enum": ["s", "l"]}},
                    {"$ref": "#/components/parameters/Page"},
                ],
            },
            "post": {
                "operationId": "waterPlant",
                "description": "Water.",
                "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Can"}}}},
            },
            "parameters": "odd",
        }
    },
    "components": {
        "parameters": {"Page": {"name": "page", "schema": {"type": "integer"}}},
        "schemas": {
            "Can": {
                "type": "object",
                "properties": {"plantId": {"type": "integer"}, "can": {"$ref": "#/components/schemas/Can"}},
                "required": ["plantId"],
            }
        },
    },
}  # fmt: skip


def row(*answers: Any, **more: Any) -> dict[str, Any]:
    actions = [
        [{"Action": name, "Action_Input": text} for name, text in answer] if isinstance(answer, list) else answer
        for answer in answers
    ]
    instructions = [f"Water plant {n}" for n in range(len(answers))]
    base = {"Name": "Améthyste", "Documentation": json.dumps(DOCUMENT)}
    descriptions = {"searchPlants": "", "waterPlant": "", "components": ""}
    answered = {"Instructions": instructions, "Golden_Answers": actions} if answers else {}
    return {**base, "Function_Description": descriptions, **answered, **more}


def test_an_instruction_is_a_request_with_the_schemas_of_the_document(tmp_path: Path) -> None:
    (made,), rules = requests_of("toolalpaca", tmp_path, row([("searchPlants", '{"query":  "a", "size": ""}')]))
    search, water = (tool["function"] for tool in made["tools"])
    assert made["id"] == "Améthyste-0"
    assert search["description"] == "Search."
    assert search["parameters"] == {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "What"},
            "size": {"type": "string", "enum": ["s", "l"]},
            "page": {"type": "integer"},
        },
        "required": ["query"],
    }
    assert water["parameters"]["required"] == ["plantId"]
    assert water["parameters"]["properties"]["plantId"] == {"type": "integer"}
    assert made["gold"] == [call("searchPlants", query="a", size="")]
    assert made["accepted"] == [
        {"name": "searchPlants", "arguments": {"query": ["a"], "size": [""]}, "optional": ["size"]}
    ]
    assert rules == {}


@pytest.mark.parametrize(
    ("text", "arguments", "accepted"),
    [
        ('{"plantId": ${id from searchPlants}}', {"plantId": "${id from searchPlants}"}, {"plantId": []}),
        ('{"a": ${x}", "b": 1}', {"a": "${x}", "b": 1}, {"a": [], "b": [1]}),
        ('{"a": ${x from y, "b": ${z}}', {"a": "${x from y}", "b": "${z}"}, {"a": [], "b": []}),
        ('{"a": [${x}]}', {"a": ["${x}"]}, {"a": []}),
        ('{"a": "{start date}"}', {"a": "${start date}"}, {"a": []}),
        ('{"a": {"b": [1]}}', {"a": {"b": [1]}}, {"a": [{"b": [1]}]}),
    ],
)
def test_a_placeholder_is_text_and_is_not_judged(
    tmp_path: Path, text: str, arguments: dict[str, Any], accepted: dict[str, Any]
) -> None:
    (made,), _ = requests_of("toolalpaca", tmp_path, row([("waterPlant", text)]))
    assert made["gold"] == [{"name": "waterPlant", "arguments": arguments}]
    assert made["accepted"][0]["arguments"] == accepted


def test_odd_answers_are_counted(tmp_path: Path) -> None:
    answers = [
        [("searchPlants", "{}"), ("[Optional]waterPlant", "{}")],
        [("getDetails", '{"Question": "which?"}')],
        [("waterPlant", "not JSON at all")],
        [("waterPlant", "[1]")],
    ]
    made, rules = requests_of(
        "toolalpaca", tmp_path, row(*answers), {"Name": "B"}, row(Documentation="{"), row(Documentation="{}")
    )
    assert [[each["name"] for each in request.get("gold", [])] for request in made] == [
        ["searchPlants"], ["getDetails"], [], [],
    ]  # fmt: skip
    assert ["gold" in request for request in made] == [True, True, False, False]
    assert rules == {
        "gold call marked as optional; left out": 1,
        "gold input that cannot be read; no gold": 2,
        "API without documentation; row left out": 1,
        "documentation that is no JSON; row left out": 1,
        "documentation without operations; row left out": 1,
    }


def test_each_step_of_a_training_instance_is_a_request(tmp_path: Path) -> None:
    steps = [
        [["searchPlants", '{"query": "fern"}', "Thought"], "Status Code: 200. [{}]"],
        [["waterPlant", '{"plantId": 7}', "Thought"], "done"],
        [["getDetails", "{}", "Thought"], "which?"],
        [["waterPlant", '{"plantId": 8}', "Thought"], "done"],
    ]
    instance = {"input": "Water the fern.\nHint: search first", "intermediate_steps": steps, "output": "Done."}
    odd = [{"intermediate_steps": steps}, {"input": "x", "intermediate_steps": ["odd"]}, {"input": "y"}]
    made, rules = requests_of("toolalpaca", tmp_path, row(Instances=[instance, *odd]))
    assert [request["id"] for request in made] == ["Améthyste-0-0", "Améthyste-0-1"]
    assert made[0]["messages"] == [{"role": "user", "content": "Water the fern."}]
    assert [message["role"] for message in made[1]["messages"]] == ["user", "assistant", "tool"]
    assert made[1]["gold"] == [call("waterPlant", plantId=7)]
    assert rules == {
        "step that asks its user; the instance ends before it": 1,
        "instance without an input; left out": 1,
    }
