"""Rows of another kind than a format reads: refused by file, line and field."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.prepared import WATER, dialogue, question
from helpers.training import SEAL, asking, call, function, requests_of
from oospec_async.errors import OospecError
from oospec_async.request import parse_request

SEARCHER = '{"apiCode": "ToolSearcher", "description": "Search.", "parameters": {}}'
PROMPT = f'Choose.\n\nInput:\napi_list = {SEAL[:1]!r}\ntask_instruction = "Mow"\nOutput:\n'
ALPACA = {"Name": "A", "Documentation": '{"paths": {"/": {"get": {"operationId": "f"}}}}'}


def finetune(*values: str) -> dict[str, Any]:
    return {"id": "a", "conversations": [{"value": value} for value in values]}


def step(*lines: str) -> dict[str, Any]:
    return {"input": "\n".join([SEARCHER, *lines]), "output": "API-Request: [Water()]"}


@pytest.mark.parametrize(
    ("format_name", "row", "reason"),
    [
        ("openai", {"messages": [{"role": "user"}], "tools": {"name": "water"}}, "tools: a list is expected"),
        ("api-bank-train", step(), "input: no line that begins with 'User:'"),
        ("api-bank-train", step("{'x': 1}", "User: Hi"), "input: a tool is an object with 'apiCode'"),
        ("seal-tools-finetune", finetune(), "conversations: should not be empty"),
        ("seal-tools-finetune", finetune("api_list", "[]"), "conversations: no 'api_list = "),
        ("seal-tools-finetune", finetune(PROMPT, "no list"), "conversations: the answer is no list of calls"),
        (
            "toolalpaca",
            {**ALPACA, "Instructions": [], "Golden_Answers": [[]]},
            "Golden_Answers: 1 for 0 Instructions",
        ),
        (
            "toolalpaca",
            {**ALPACA, "Instructions": ["x"], "Golden_Answers": [[{"Action": "a"}]]},
            "Golden_Answers: Action_Input: missing",
        ),
    ],
)
def test_a_row_of_another_kind_is_refused(tmp_path: Path, format_name: str, row: dict[str, Any], reason: str) -> None:
    with pytest.raises(OospecError, match=r"rows\.jsonl:1: ") as refused:
        requests_of(format_name, tmp_path, row)
    assert reason in str(refused.value)


GOOD: dict[str, dict[str, Any]] = {
    "api-bank": dialogue(WATER, answer={"name": "Water", "parameters": {"litres": "2"}}),
    "api-bank-train": step("User: Hi", "API-Request: [ToolSearcher(keywords='a')]->{'name': 'Water'}"),
    "bfcl": question(),
    "openai": asking("Hi", function("water", "litres"), gold=[call("water", litres="2")]),
    "seal-tools-finetune": finetune(PROMPT, "[{'api': 'waterPlants', 'parameters': {'litres': '2'}}]"),
    "toolalpaca": {
        **ALPACA,
        "Instructions": ["x"],
        "Golden_Answers": [[{"Action": "f", "Action_Input": '{"a": ${b}}'}]],
        "Instances": [{"input": "x", "intermediate_steps": [[["f", "{}"], "done"]]}],
    },
}
ODD = st.sampled_from([None, 1, 2.5, True, "", "x", "{}", [], ["a"], [[]], [{}], {}, {"a": 1}])


def spoiled(value: Any, data: st.DataObject) -> Any:
    """The value with a part of it, or all of it, replaced."""
    if isinstance(value, dict | list) and value and data.draw(st.integers(0, 3)):
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        chosen = data.draw(st.sampled_from(keys))
        made = dict(value) if isinstance(value, dict) else list(value)
        made[chosen] = spoiled(value[chosen], data)
        return made
    return data.draw(ODD)


@pytest.mark.parametrize("format_name", GOOD)
@given(data=st.data())
def test_whatever_stands_in_a_row_is_read_or_refused_by_its_place(
    tmp_path_factory: pytest.TempPathFactory, format_name: str, data: st.DataObject
) -> None:
    field = data.draw(st.sampled_from(sorted(GOOD[format_name])))
    row = {**GOOD[format_name], field: spoiled(GOOD[format_name][field], data)}
    said = place = "rows.jsonl:1: "
    try:
        made, _ = requests_of(format_name, tmp_path_factory.mktemp("odd"), row)
        for request in made:
            parse_request(request, "rows.jsonl:1")
    except OospecError as refused:
        said = str(refused)
    assert place in said
