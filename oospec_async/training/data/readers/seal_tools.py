"""Seal-Tools: the plain splits, with functions on offer drawn from the tool file, and the fine-tuning files."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path

from oospec_async.errors import OospecError
from oospec_async.request import Json, kind_of
from oospec_async.training.data.readers.accepted import accepted, typed
from oospec_async.training.data.readers.base import Format, Notes, Object, Row, as_tools, needed, refers
from oospec_async.training.data.readers.literals import literal
from oospec_async.training.data.readers.source import read_rows
from oospec_async.training.data.writing.seal_pool import TYPES, pool_file

_ON_OFFER = 5  # as in the fine-tuning files
_PROMPT = re.compile(r"\napi_list = (\[.*\])\ntask_instruction = \"(.*)\"\nOutput:\n\Z", re.DOTALL)
_ESCAPES = {r"\n": "\n", r"\'": "'", r"\"": '"'}


class SealTools(Format):
    """``dev.jsonl`` and its like. Other functions are drawn by the row's id, half of them from a gold function's area.

    Types are named as in JSON schemas. A number that is given as text becomes a number where the schema says number.
    """

    def __init__(self, source: Path, notes: Notes) -> None:
        super().__init__(source, notes)
        file = pool_file(source.parent, "tool")
        self.beside = (file,)
        rows = [(row, row.need("api_name", str)) for row in read_rows(file)]
        self._tools = {name: seal_function(row.data, row.where) for row, name in rows}
        self._areas: dict[str, list[str]] = {}
        self._area_of: dict[str, str] = {}
        for row, name in rows:
            self._area_of[name] = row.need("field", str).split("/")[0]
            self._areas.setdefault(self._area_of[name], []).append(name)

    def requests(self, row: Row) -> Iterator[Object]:
        calls = row.need("calling", list)
        name, query = row.need("id", str), _unescaped(row.need("query", str))
        names = self._on_offer(name, list(dict.fromkeys(str(call.get("api")) for call in calls)))
        tools = as_tools([self._tools[each] for each in names], row.where, self._notes)
        yield seal_request(name, query, tools, calls, row.where, self._notes)

    def _on_offer(self, row: str, called: list[str]) -> list[str]:
        rng = random.Random(f"seal-tools:{row}")
        chosen = [name for name in called if name in self._tools]
        near = [name for called_ in chosen for name in self._areas[self._area_of[called_]]]
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
        turns = row.need("conversations", list)
        texts = [turn["value"] for turn in turns if isinstance(turn, dict) and isinstance(turn.get("value"), str)]
        if len(turns) != 2 or len(texts) != 2:
            raise OospecError(f"{row.where}: conversations: a human's and an assistant's turn are expected")
        prompt, answer = _PROMPT.search(texts[0]), literal(texts[1])
        schemas = literal(prompt[1]) if prompt is not None else None
        if prompt is None or not isinstance(schemas, list):
            raise OospecError(f"{row.where}: conversations: no 'api_list = […]' and 'task_instruction = \"…\"'")
        if not isinstance(answer, list):
            raise OospecError(f"{row.where}: conversations: the answer is no list of calls")
        functions = [seal_function(schema, row.where) for schema in schemas]
        tools = as_tools(functions, row.where, self._notes)
        yield seal_request(row.need("id", str), _unescaped(prompt[2]), tools, answer, row.where, self._notes)


def seal_request(name: str, query: str, tools: list[Object], calls: list[Json], where: str, notes: Notes) -> Object:
    """A request with gold. Raises OospecError naming the field."""
    schemas = {tool["function"]["name"]: tool["function"]["parameters"]["properties"] for tool in tools}
    gold: list[Object] = []
    for call in calls:
        if not isinstance(call, dict):
            raise OospecError(f"{where}: calling: a call is an object, not {type(call).__name__}")
        api, arguments = needed(call, "api", str, where), needed(call, "parameters", dict, where)
        known = schemas.get(api, {})
        gold.append(
            {"name": api, "arguments": {k: _value(v, known.get(k), where, notes) for k, v in arguments.items()}}
        )
    made: Object = {"id": name, "messages": [{"role": "user", "content": query}], "tools": tools, "gold": gold}
    return {**made, "accepted": accepted(gold, tools)}


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


def seal_function(data: Json, where: str) -> Object:
    """OpenAI's form of a schema; ``choices`` become an enum. Raises OospecError naming the field."""
    if not isinstance(data, dict):
        raise OospecError(f"{where}: a tool is an object, not {type(data).__name__}")
    properties: Object = {}
    for name, schema in needed(data, "parameters", dict, where).items():
        kept = dict(schema) if isinstance(schema, dict) else {}
        kind = str(kept.get("type"))
        kept["type"] = TYPES.get(kind, kind)
        if isinstance(kept.get("choices"), list):
            kept["enum"] = kept.pop("choices")
        properties[name] = kept
    parameters = {"type": "object", "properties": properties, "required": needed(data, "required", list, where)}
    name, text = needed(data, "api_name", str, where), needed(data, "api_description", str, where)
    return {"name": name, "description": text, "parameters": parameters}


def _unescaped(text: str) -> str:
    """The query as its author meant it: some line breaks and quotes are written as in a program."""
    for written, meant in _ESCAPES.items():
        text = text.replace(written, meant)
    return text
