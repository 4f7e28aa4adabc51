"""Made-up rows in the shape of public sets, and what tests of training do with them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from oospec_async.training.data.readers import FORMATS
from oospec_async.training.notes import Notes
from oospec_async.training.row_files import read_rows


def write_rows(path: Path, *rows: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def read_back(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


def requests_of(name: str, at: Path, *rows: Any) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """The requests that a format makes of rows in a folder, or of a file, and how often each rule was applied."""
    notes = Notes()
    path = write_rows(at / "rows.jsonl", *rows) if rows else at
    reader = FORMATS[name](path, notes)
    made = [request for row in read_rows(path) for request in reader.requests(row)]
    return made, counted(notes)


def counted(notes: Notes) -> dict[str, int]:
    """How often each rule was applied."""
    return {note["rule"]: note["count"] for note in notes.as_json()}


def function(name: str, *parameters: str, required: tuple[str, ...] = (), **schema: Any) -> dict[str, Any]:
    """A tool whose parameters are texts, or what ``schema`` says of them."""
    properties = {key: schema.get(key, {"type": "string"}) for key in parameters}
    body = {"type": "object", "properties": properties, "required": list(required)}
    return {"type": "function", "function": {"name": name, "description": f"{name}.", "parameters": body}}


def asking(text: str, *tools: dict[str, Any], gold: Any = None, **more: Any) -> dict[str, Any]:
    row = {"id": f"id-{text}", "messages": [{"role": "user", "content": text}], "tools": list(tools), **more}
    return row if gold is None else {**row, "gold": gold}


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


def trips(*names: str) -> list[dict[str, Any]]:
    """Requests for functions of a city and of days, each for its own alone."""
    made = []
    for name in names:
        tool = function(name, "city", "days", required=("city",), days={"type": "integer"})
        made.append(asking(f"Paris {name}", tool, gold=[call(name, city="Paris", days=3)]))
    return made


SEAL = [
    {
        "api_name": name,
        "api_description": f"Do {name}",
        "field": field,
        "parameters": {
            key: {"type": kind, "description": f"The {key}", **({"choices": ["a", "b"]} if key == "size" else {})}
            for key, kind in parameters.items()
        },
        "required": list(parameters)[:1],
        "responses": {"done": {"type": "bool", "description": "Whether it is done"}},
    }
    for name, field, parameters in (
        ("waterPlants", "Home/Garden", {"litres": "float", "bed": "str"}),
        ("mowLawn", "Home/Garden", {"height": "int"}),
        ("listTools", "Home/Shed", {}),
        ("bookRoom", "Travel/Hotels", {"city": "str", "size": "str"}),
        ("findFlight", "Travel/Air", {"city": "str", "direct": "bool"}),
        ("rentCar", "Travel/Road", {"days": "int"}),
        ("playSong", "Music/Player", {"title": "str"}),
    )
]


def seal_tools(folder: Path, *rows: Any) -> Path:
    """A directory of Seal-Tools: tools and both splits; ``rows`` stand in the file of its dev split."""
    write_rows(folder / "tool.jsonl", *SEAL)
    values = {"bed": "roses", "city": "Oslo", "title": "Air"}
    spoken = [{"id": f"v{n}", "query": "q", "calling": [{"api": "x", "parameters": {k: v}}]} for n, (k, v) in
              enumerate(values.items())]  # fmt: skip
    write_rows(folder / "test_in_domain.jsonl", *spoken)
    return write_rows(folder / "dev.jsonl", *(rows or spoken))
