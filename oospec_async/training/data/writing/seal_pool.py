"""Seal-Tools as material: every tool schema with its field, and every value that an argument has in the calls."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from oospec_async.request import Json
from oospec_async.training.data.decontaminate import Evaluation
from oospec_async.training.data.readers.seal_tools import TYPES, FiledSchema, SealRow, tool_file
from oospec_async.training.records import Object
from oospec_async.training.row_files import read_rows

_FILES = ("tool", "dev", "test_in_domain")
_LONGEST = 60  # characters of a value that one would say in a message


@dataclass(frozen=True)
class SealTool:
    function: Object  # OpenAI's form, with types and descriptions only
    field: str  # such as Sports/Skiing

    @property
    def name(self) -> str:
        return str(self.function["name"])

    @property
    def area(self) -> str:
        return self.field.split("/")[0]


@dataclass(frozen=True)
class SealPool:
    tools: list[SealTool]
    values: dict[str, list[Json]]  # parameter name -> values of scalar type, as often as they occur

    def has_values(self, name: str, schema: Object) -> bool:
        """Whether a value can be drawn: numbers and booleans are made up, texts are taken from the pool."""
        return schema["type"] != "string" or name in self.values

    def usable(self) -> list[SealTool]:
        """Those for which a request can be written: they take parameters, and the required ones have values."""
        return [tool for tool in self.tools if self._is_usable(tool.function["parameters"])]

    def _is_usable(self, parameters: Object) -> bool:
        properties = parameters["properties"]
        needed = [name for name in parameters["required"] if name in properties]
        return bool(properties) and all(self.has_values(name, properties[name]) for name in needed)


def kept(tools: list[SealTool], known: Evaluation) -> list[SealTool]:
    """Those that no evaluation set knows."""
    return [tool for tool in tools if not known.has_name(tool.name)]


def read_pool(folder: Path) -> SealPool:
    """From the data set's directory: ``tool.jsonl`` and the splits beside it. Raises OospecError naming the file."""
    tools, *splits = pool_files(folder)
    values: dict[str, list[Json]] = defaultdict(list)
    for split in splits:
        for row in read_rows(split):
            for call in row.read(SealRow).calling:
                for name, value in call.arguments.items():
                    if isinstance(value, str | int | float) and _is_plain(value):
                        values[name].append(value)
    return SealPool([_tool(row.read(FiledSchema)) for row in read_rows(tools)], dict(values))


def pool_files(folder: Path) -> list[Path]:
    """Raises OospecError for one that is not there."""
    return [tool_file(folder, name) for name in _FILES]


def _is_plain(value: Json) -> bool:
    return "API_call" not in str(value) and len(str(value)) < _LONGEST


def _tool(schema: FiledSchema) -> SealTool:
    properties = {}
    for name, each in schema.parameters.items():
        known = each if isinstance(each, dict) else {}
        about = known.get("description", "")
        properties[name] = {"type": TYPES.get(str(known.get("type")), "string"), "description": about}
    return SealTool(schema.wrapped(properties), schema.field)
