"""Seal-Tools as material: every tool schema with its field, and every value that an argument has in the calls."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from oospec_async.errors import OospecError
from oospec_async.request import Json
from oospec_async.training.data.readers.base import Object, needed
from oospec_async.training.data.readers.source import read_rows

TYPES = {"str": "string", "int": "integer", "float": "number", "bool": "boolean"}
_LONGEST = 60  # characters of a value that one would say in a message


@dataclass(frozen=True)
class SealTool:
    function: Object  # OpenAI's form, with types and descriptions only
    field: str  # such as Sports/Skiing

    @property
    def area(self) -> str:
        return self.field.split("/")[0]


@dataclass(frozen=True)
class SealPool:
    tools: list[SealTool]
    values: dict[str, list[Json]]  # parameter name -> values of scalar type, as often as they occur


def read_pool(folder: Path) -> SealPool:
    """From the data set's directory: ``tool.jsonl`` and the splits beside it. Raises OospecError naming the file."""
    tools = [_tool(row.data, row.where) for row in read_rows(pool_file(folder, "tool"))]
    values: dict[str, list[Json]] = defaultdict(list)
    for split in ("dev", "test_in_domain"):
        for row in read_rows(pool_file(folder, split)):
            for call in row.need("calling", list):
                for name, value in needed(call, "parameters", dict, row.where).items():
                    if isinstance(value, str | int | float) and _plain(value):
                        values[name].append(value)
    return SealPool(tools, dict(values))


def pool_files(folder: Path) -> list[Path]:
    return [pool_file(folder, name) for name in ("tool", "dev", "test_in_domain")]


def pool_file(folder: Path, name: str) -> Path:
    for suffix in (".jsonl", ".jsonl.gz"):
        if (path := folder / f"{name}{suffix}").exists():
            return path
    raise OospecError(f"{folder}: there is no {name}.jsonl; name the directory of Seal-Tools")


def _plain(value: Json) -> bool:
    return "API_call" not in str(value) and len(str(value)) < _LONGEST


def _tool(data: Object, where: str) -> SealTool:
    properties = {
        name: {"type": TYPES.get(schema.get("type"), "string"), "description": schema.get("description", "")}
        for name, schema in needed(data, "parameters", dict, where).items()
    }
    parameters = {"type": "object", "properties": properties, "required": list(needed(data, "required", list, where))}
    name, text = needed(data, "api_name", str, where), needed(data, "api_description", str, where)
    return SealTool({"name": name, "description": text, "parameters": parameters}, needed(data, "field", str, where))
