"""Rows of another kind than a format reads: refused by file, line and field."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from helpers.training import SEAL, requests_of
from oospec_async.errors import OospecError

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
        ("openai", {"messages": [{"role": "user"}], "tools": "[]"}, "tools: a list is expected"),
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
