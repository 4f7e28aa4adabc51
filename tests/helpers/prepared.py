"""``tools/prepare_data.py``, and rows in the shape of the sets that it reads. The rows are made up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tools import prepare_data

AREA = {
    "name": "geometry.area",
    "description": "Area of a room, in m².",
    "parameters": {
        "type": "dict",
        "properties": {
            "width": {"type": "float"},
            "depth": {"type": "float"},
            "unit": {"type": "string", "enum": ["m²", "ft²"]},
            "corners": {"type": "tuple", "items": {"type": "any"}},
            "floor": {"type": "dict", "properties": {"name": {"type": "string"}}, "required": ["name"]},
        },
        "required": ["width", "depth"],
    },
}


def question(**fields: Any) -> dict[str, Any]:
    turn = [{"role": "user", "content": "Wie groß ist ein Zimmer von 3 mal 4 Metern?"}]
    return {"id": "rooms_0", "question": [turn], "function": [AREA], **fields}


def answer(accepted: Any, **fields: Any) -> dict[str, Any]:
    return {"id": "rooms_0", "ground_truth": [{"geometry.area": accepted}], **fields}


def system(*entries: str) -> str:
    tools = "".join(f"{number}. Name: {entry}\n" for number, entry in enumerate(entries, start=1))
    return (
        "You can call tools.\n\n**Available Tools**\nThese are the tools:\n"
        f"{tools}\n**Output Format**\nA call.\n\n**Important Notes**\n1. Name: only in notes, no tool.\n"
    )


def dialogue(*entries: str, **fields: Any) -> dict[str, Any]:
    call = {"name": "Water", "parameters": {"litres": "2"}}
    row = {
        "system": system(*entries),
        "user": "***Dialogue\n<user>Water the plants：2 litres.</user>",
        "answer": [call],
    }
    return {**row, "other": {"file": "Water-level-1-1.jsonl", "id": 3}, **fields}


WATER = "Water\nDescription: Water the plants.\nParameters: {'litres': {'type': 'int', 'description': \"The can's\"}}"


def lines(*rows: Any) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def bfcl(folder: Path, rows: list[Any], answers: list[Any] | None = None, name: str = "BFCL_v4_rooms.json") -> Path:
    (folder / name).write_bytes(lines(*rows))
    if answers is not None:
        (folder / "possible_answer").mkdir(exist_ok=True)
        (folder / "possible_answer" / name).write_bytes(lines(*answers))
    return folder / name


def made(capfdbinary: pytest.CaptureFixture[bytes], *arguments: object) -> tuple[list[dict[str, Any]], str]:
    """The request lines on stdout and the text on stderr of a run that succeeds."""
    assert prepare_data.main([str(argument) for argument in arguments]) == 0
    captured = capfdbinary.readouterr()
    return [json.loads(line) for line in captured.out.decode().split("\n") if line], captured.err.decode()


def refused(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """The one line on stderr of a run that is refused."""
    assert prepare_data.main([str(argument) for argument in arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("python -m tools.prepare_data: ")
    assert captured.err.count("\n") == 1
    return captured.err.removeprefix("python -m tools.prepare_data: ").rstrip("\n")
