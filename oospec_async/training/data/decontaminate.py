"""No function and no prompt of an evaluation set may be in training."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from oospec_async.request import Json
from oospec_async.training.notes import Notes
from oospec_async.training.records import Object


def name_key(name: str) -> str:
    """A name without case and punctuation: ``getUserInfo`` and ``get_user_info`` are one."""
    return re.sub(r"[\W_]+", "", name.lower()) or name


def name_keys(name: str) -> set[str]:
    """The keys by which a function is known: the whole name, and the part after its last dot."""
    return {name_key(name), name_key(name.rsplit(".", 1)[-1])}


def prompt_key(text: str) -> str:
    """A prompt without case, punctuation and spacing."""
    return " ".join(re.findall(r"[^\W_]+", text.lower()))


def prompts(row: Object) -> Iterator[str]:
    """What the users of a request say."""
    for message in row.get("messages", []):
        if message.get("role") == "user" and isinstance(message.get("content"), str):
            yield prompt_key(message["content"])


def functions(row: Object) -> Iterator[str]:
    """Names of a request's tools and of the functions that it calls."""
    for tool in row.get("tools", []):
        yield function_of(tool)["name"]
    yield from called(row)


def called(row: Object) -> Iterator[str]:
    for call in [*row.get("gold", []), *row.get("accepted", [])]:
        yield call["name"]


def history(row: Object) -> Iterator[str]:
    """Functions that earlier turns have called."""
    for message in row.get("messages", []):
        for call in message.get("tool_calls") or []:
            yield call["function"]["name"]


def function_of(tool: Json) -> Object:
    """The inner object of a tool, wrapped or not."""
    inner: Object = tool["function"] if isinstance(tool.get("function"), dict) else tool
    return inner


@dataclass
class Evaluation:
    """What an evaluation set holds: names by ``name_keys``, prompts by ``prompt_key``."""

    names: set[str] = field(default_factory=set)
    prompts: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, rows: Iterable[Object]) -> Evaluation:
        made = cls()
        for row in rows:
            for name in functions(row):
                made.names |= name_keys(name)
            made.prompts |= {key for key in prompts(row) if key}
        return made

    def has_name(self, name: str) -> bool:
        return not self.names.isdisjoint(name_keys(name))

    def has_prompt(self, row: Object) -> bool:
        return not self.prompts.isdisjoint(prompts(row))


class Cleaner:
    """Takes out of training rows what an evaluation set holds, and rows that were there before; counts each."""

    def __init__(self, known: Evaluation, notes: Notes) -> None:
        self._known = known
        self._notes = notes
        self._seen: set[str] = set()
        self.removed: set[str] = set()  # names of functions, as the training sets spell them

    def cleaned(self, row: Object, where: str) -> Object | None:
        """The row without functions of an evaluation set, and without ``accepted``; None if nothing of it may stay."""
        hit = {name for name in functions(row) if self._known.has_name(name)}
        self.removed |= hit
        reason = self._reason(row, hit)
        if reason is not None:
            self._notes.add(f"{reason}; request removed", where)
            return None
        tools = [tool for tool in row.get("tools", []) if function_of(tool)["name"] not in hit]
        if hit:
            self._notes.add("function of an evaluation set on offer; function removed", where)
        made = {key: value for key, value in row.items() if key != "accepted"} | {"tools": tools}
        content = json.dumps([made.get(key) for key in ("messages", "tools", "gold")], sort_keys=True)
        if content in self._seen:
            self._notes.add("the same request again; removed", where)
            return None
        self._seen.add(content)
        return made

    def _reason(self, row: Object, hit: set[str]) -> str | None:
        """Why the whole request must go."""
        if self._known.has_prompt(row):
            return "prompt of an evaluation set"
        if not hit.isdisjoint(called(row)):
            return "calls a function of an evaluation set"
        if any(self._known.has_name(name) for name in history(row)):
            return "function of an evaluation set in its history"
        if hit and row.get("tools_in_prompt"):
            return "function of an evaluation set in its text"
        if hit and len(hit) == len(row["tools"]):
            return "only functions of an evaluation set on offer"
        return None
