"""Lines of ``guess`` and of ``teach``, by the request that they answer."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from oospec_async.hints import CallHint
from oospec_async.request import Request
from oospec_async.training.records import Call, Object, Record
from oospec_async.training.stage import read_records
from oospec_async.training.teach.teacher import REFUSED, Key


class _Guess(Call):
    omitted: list[str]


class _Guessed(Record):
    id: str
    asked: str
    calls: list[_Guess]
    bytes: int


class Said(Record):
    """A teacher's line."""

    id: str
    asked: str
    calls: list[Object]
    text: str
    finish: str

    def made(self, request: Request) -> list[CallHint] | None:
        """Its calls of functions on offer, as guesses; None where one has arguments that are no object."""
        calls = []
        for call in self.calls:
            tool, arguments = request.tool(str(call.get("name"))), call.get("arguments")
            if tool is None:
                continue
            if not isinstance(arguments, dict):
                return None
            calls.append(CallHint(tool.name, arguments, frozenset({s.name for s in tool.slots} - arguments.keys())))
        return calls


def read_guesses(path: Path) -> Mapping[Key, list[CallHint]]:
    """The calls of each guess. Raises OospecError naming file, line and field."""
    return {
        (line.id, line.asked): [CallHint(c.name, c.arguments, frozenset(c.omitted)) for c in line.calls]
        for _, line in read_records(path, _Guessed)
    }


def read_said(path: Path) -> Mapping[Key, Said]:
    """A teacher's lines; none for an answer that was cut or refused: it says nothing. Raises OospecError as above."""
    lines = (line for _, line in read_records(path, Said))
    return {(line.id, line.asked): line for line in lines if line.finish not in ("length", REFUSED)}
