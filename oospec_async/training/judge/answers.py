"""Lines of ``guess`` and of ``teach``, by the request that they answer."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from oospec_async.errors import OospecError
from oospec_async.request import Json, Request
from oospec_async.training.data.readers.base import Object, Row, needed
from oospec_async.training.stage import read_lines
from oospec_async.training.teach.reply import REFUSED, asked

Key = tuple[str, str]  # id, and the digest of what was asked


def key_of(request: Request) -> Key:
    return request.id, asked(request)


def read_guesses(path: Path) -> Mapping[Key, list[Object]]:
    """The calls of each guess: ``name``, ``arguments``, ``omitted``. Raises OospecError naming file, line and field."""
    rows = read_lines(path, "id", "asked", "calls", "bytes")
    return {_key(row): [_call(call, row, number) for number, call in enumerate(_calls(row))] for row in rows}


def read_said(path: Path) -> Mapping[Key, Object]:
    """A teacher's lines; none for an answer that was cut or refused: it says nothing. Raises OospecError as above."""
    rows = read_lines(path, "id", "asked", "calls", "text", "finish")
    for row in rows:
        row.need("text", str)
        _calls(row)
    return {_key(row): row.data for row in rows if row.data["finish"] not in ("length", REFUSED)}


def made(said: Object, request: Request) -> list[Object] | None:
    """The calls of functions on offer that an answer makes, as a guess would have them; None where one has arguments
    that are no object.
    """
    calls = []
    for call in said["calls"]:
        tool, arguments = request.tool(str(call.get("name"))), call.get("arguments")
        if tool is None:
            continue
        if not isinstance(arguments, dict):
            return None
        omitted = [slot.name for slot in tool.slots if slot.name not in arguments]
        calls.append({"name": tool.name, "arguments": arguments, "omitted": omitted})
    return calls


def _key(row: Row) -> Key:
    return row.need("id", str), row.need("asked", str)


def _calls(row: Row) -> list[Object]:
    calls = row.need("calls", list)
    for number, call in enumerate(calls):
        if not isinstance(call, dict):
            raise OospecError(f"{row.where}: calls.{number}: an object is expected, not {type(call).__name__}")
    return calls


def _call(call: Object, row: Row, number: int) -> Object:
    where = f"{row.where}: calls.{number}"
    name, arguments = needed(call, "name", str, where), needed(call, "arguments", dict, where)
    omitted: list[Json] = needed(call, "omitted", list, where)
    if not all(isinstance(each, str) for each in omitted):
        raise OospecError(f"{where}: omitted: a list of names is expected")
    return {"name": name, "arguments": arguments, "omitted": omitted}
