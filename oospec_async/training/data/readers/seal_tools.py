"""Seal-Tools: the plain splits, with functions on offer drawn from the tool file, and the fine-tuning files."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import Field

from oospec_async.errors import OospecError
from oospec_async.files.validation import validated
from oospec_async.request import Json
from oospec_async.schema import kind_of
from oospec_async.training.data.readers.accepted import answered, typed
from oospec_async.training.data.readers.base import Format, as_tools, refers
from oospec_async.training.data.readers.literals import literal
from oospec_async.training.notes import Notes
from oospec_async.training.records import Call, Object, Record, Row
from oospec_async.training.row_files import read_rows

TYPES = {"str": "string", "int": "integer", "float": "number", "bool": "boolean"}
_ON_OFFER = 5  # as in the fine-tuning files
_PROMPT = re.compile(r"\napi_list = (\[.*\])\ntask_instruction = \"(.*)\"\nOutput:\n\Z", re.DOTALL)
_ESCAPES = {r"\n": "\n", r"\'": "'", r"\"": '"'}


class SealSchema(Record):
    """A function, as Seal-Tools describes it."""

    name: str = Field(validation_alias="api_name")
    text: str = Field(validation_alias="api_description")
    parameters: dict[str, Json]
    required: list[Json]

    def function(self) -> Object:
        """OpenAI's form; ``choices`` become an enum."""
        properties: Object = {}
        for name, schema in self.parameters.items():
            kept = dict(schema) if isinstance(schema, dict) else {}
            kind = str(kept.get("type"))
            kept["type"] = TYPES.get(kind, kind)
            if isinstance(kept.get("choices"), list):
                kept["enum"] = kept.pop("choices")
            properties[name] = kept
        return self.wrapped(properties)

    def wrapped(self, properties: Object) -> Object:
        """OpenAI's form with these parameters."""
        parameters = {"type": "object", "properties": properties, "required": self.required}
        return {"name": self.name, "description": self.text, "parameters": parameters}


class FiledSchema(SealSchema):
    """One of the tool file. ``field``: such as Sports/Skiing."""

    field: str

    @property
    def area(self) -> str:
        return self.field.split("/")[0]


class SealCall(Call):
    name: str = Field(validation_alias="api")
    arguments: Object = Field(validation_alias="parameters")


class SealRow(Record):
    """One of a plain split."""

    id: str
    query: str
    calling: list[SealCall]


class _Turn(Record):
    value: str


class _Conversation(Record):
    id: str
    conversations: list[_Turn] = Field(min_length=2, max_length=2)  # a human's and an assistant's


def tool_file(folder: Path, name: str = "tool") -> Path:
    """A file of the data set's directory. Raises OospecError."""
    for suffix in (".jsonl", ".jsonl.gz"):
        if (path := folder / f"{name}{suffix}").exists():
            return path
    raise OospecError(f"{folder}: there is no {name}.jsonl; name the directory of Seal-Tools")


class SealTools(Format):
    """``dev.jsonl`` and its like. Other functions are drawn by the row's id, half of them from a gold function's area.

    Types are named as in JSON schemas. A number that is given as text becomes a number where the schema says number.
    """

    def __init__(self, source: Path, notes: Notes) -> None:
        super().__init__(source, notes)
        file = tool_file(source.parent)
        self.beside = (file,)
        self._tools = {schema.name: schema for schema in (row.read(FiledSchema) for row in read_rows(file))}
        self._areas: dict[str, list[str]] = {}
        for name, schema in self._tools.items():
            self._areas.setdefault(schema.area, []).append(name)

    def requests(self, row: Row) -> Iterator[Object]:
        found = row.read(SealRow)
        names = self._on_offer(found.id, list(dict.fromkeys(call.name for call in found.calling)))
        functions = [self._tools[name].function() for name in names]
        yield _request(found.id, found.query, functions, found.calling, row.where, self._notes)

    def _on_offer(self, row: str, called: list[str]) -> list[str]:
        rng = random.Random(f"seal-tools:{row}")
        chosen = [name for name in called if name in self._tools]
        near = [name for called_ in chosen for name in self._areas[self._tools[called_].area]]
        everything = list(self._tools)
        while len(chosen) < min(_ON_OFFER, len(everything)):
            name = rng.choice(near if near and rng.random() < 0.5 else everything)
            near = [other for other in near if other != name]
            chosen += [] if name in chosen else [name]
        rng.shuffle(chosen)
        return chosen


class SealToolsFinetune(Format):
    """The fine-tuning files: five schemas, the query and the calls are Python text in a conversation."""

    def requests(self, row: Row) -> Iterator[Object]:
        found = row.read(_Conversation)
        asked, said = (turn.value for turn in found.conversations)
        where = f"{row.where}: conversations"
        prompt, answer = _PROMPT.search(asked), literal(said)
        schemas = literal(prompt[1]) if prompt is not None else None
        if prompt is None or not isinstance(schemas, list):
            raise OospecError(f"{where}: no 'api_list = […]' and 'task_instruction = \"…\"'")
        if not isinstance(answer, list):
            raise OospecError(f"{where}: the answer is no list of calls")
        functions = [validated(SealSchema, schema, where, "a tool").function() for schema in schemas]
        calls = [validated(SealCall, call, where, "a call") for call in answer]
        yield _request(found.id, prompt[2], functions, calls, row.where, self._notes)


def _request(name: str, query: str, functions: list[Json], calls: Sequence[Call], where: str, notes: Notes) -> Object:
    """A request with gold."""
    tools = as_tools(functions, where, notes)
    schemas = {tool["function"]["name"]: tool["function"]["parameters"]["properties"] for tool in tools}
    for written, meant in _ESCAPES.items():  # some line breaks and quotes are written as in a program
        query = query.replace(written, meant)
    gold = []
    for call in calls:
        known = schemas.get(call.name, {})
        arguments = {key: _value(value, known.get(key), where, notes) for key, value in call.arguments.items()}
        gold.append(call.model_copy(update={"arguments": arguments}))
    return answered({"id": name, "messages": [{"role": "user", "content": query}], "tools": tools}, gold)


def _value(value: Json, schema: Json, where: str, notes: Notes) -> Json:
    kind = kind_of(schema)
    if refers(value):
        notes.add("argument is another call's result (API_call_N); kept", where)
        return value
    if kind not in ("integer", "number") or isinstance(value, int | float):
        return value
    read = typed(value, kind)
    if read is value:
        notes.add(f"{kind} argument that is no number; kept", where)
    else:
        notes.add("number given as text; made a number", where)
    return read
