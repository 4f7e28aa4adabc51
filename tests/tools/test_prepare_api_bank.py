"""Rows of API-Bank to requests."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.prepared import WATER, dialogue, lines, made


def test_an_api_bank_row_keeps_its_text_and_names_its_tools(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    rest = "Rest\nDescription: Wait.\n2. It is no tool.\nParameters: {}"
    row = dialogue(WATER, rest)
    (tmp_path / "level-1.jsonl").write_bytes(lines(row))
    (request,), err = made(capfdbinary, "api-bank", tmp_path / "level-1.jsonl")
    first, second = (tool["function"] for tool in request.pop("tools"))
    assert first["description"] == "Water the plants."
    schema = {"type": "object", "properties": {"litres": {"type": "int", "description": "The can's"}}}
    assert first["parameters"] == schema
    assert second["description"] == "Wait.\n2. It is no tool."
    assert second["parameters"] == {"type": "object", "properties": {}}
    assert request == {
        "id": "Water-level-1-1-3",
        "messages": [{"role": "system", "content": row["system"]}, {"role": "user", "content": row["user"]}],
        "tools_in_prompt": True,
        "gold": [{"name": "Water", "arguments": {"litres": "2"}}],
    }
    assert "note" not in err


def test_an_api_bank_answer_is_a_call_or_a_list_of_calls(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    call = {"name": "Rest", "parameters": {"minutes": "5"}}
    unanswered = {key: value for key, value in dialogue(WATER, other=None).items() if key != "answer"}
    (tmp_path / "level-2.jsonl").write_bytes(lines(dialogue(WATER, answer=call), unanswered))
    (first, second), err = made(capfdbinary, "api-bank", tmp_path / "level-2.jsonl")
    assert first["gold"] == [{"name": "Rest", "arguments": {"minutes": "5"}}]
    assert second["id"] == "level-2-2"
    assert "gold" not in second
    assert "1 x gold calls a tool that the row does not list; kept" in err
    assert "1 x row without an answer; no gold" in err


@pytest.mark.parametrize(
    "block",
    [
        "{'litres': int}",
        "__import__('os').abort()",
        "{'litres': {'type': 'int'}",
        "[1, 2]",
        "{'litres': {1, 2}}",
        "{'litres': b'2'}",
        "{'litres': 1e999}",
        "{('a', 'b'): 1}",
        "(" * 5000,
        "",
    ],
)
def test_a_parameter_block_that_is_no_dict_literal_is_no_parameters(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes], block: str
) -> None:
    row = dialogue(f"Water\nDescription: Water the plants.\nParameters: {block}")
    (tmp_path / "level-1.jsonl").write_bytes(lines(row))
    (request,), err = made(capfdbinary, "api-bank", tmp_path / "level-1.jsonl")
    function = request["tools"][0]["function"]
    assert (function["description"], function["parameters"]["properties"]) == ("Water the plants.", {})
    assert "1 x parameters that are no Python dict literal; tool kept without parameters" in err


def test_a_backslash_in_a_literal_is_no_warning(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    row = dialogue("Water\nDescription:\nParameters: {'litres': {'type': 'str', 'pattern': '\\d+'}}")
    (tmp_path / "level-1.jsonl").write_bytes(lines(row))
    (request,), _ = made(capfdbinary, "api-bank", tmp_path / "level-1.jsonl")
    assert request["tools"][0]["function"]["parameters"]["properties"]["litres"]["pattern"] == "\\d+"
