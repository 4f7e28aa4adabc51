"""Chats in OpenAI's format, as fine-tuning files have them: each assistant turn with calls is a request's answer."""

from __future__ import annotations

import json
from collections.abc import Iterator

from oospec_async.request import Json
from oospec_async.training.data.readers.accepted import accepted
from oospec_async.training.data.readers.base import Format, Object, Row, needed


class OpenAi(Format):
    """``{"messages", "tools"}``. A chat that ends with the assistant's words has no call as its gold.

    A chat that ends otherwise is a request without an answer; ``gold`` and ``accepted``, where it has them, are kept.
    """

    def requests(self, row: Row) -> Iterator[Object]:
        messages = row.need("messages", list)
        tools = _wrapped(row.need("tools", list) if row.data.get("tools") is not None else [])
        name = row.data["id"] if isinstance(row.data.get("id"), str) and row.data["id"] else row.name
        made: Object = {"id": name, "messages": messages, "tools": tools}
        if row.data.get("tools_in_prompt") is True:
            made["tools_in_prompt"] = True
        if "gold" in row.data or not messages or _role(messages[-1]) != "assistant":
            if "gold" in row.data:
                gold = [_plain(call, f"{row.where}: gold") for call in row.need("gold", list)]
                made |= {"gold": gold, "accepted": row.data.get("accepted", accepted(gold, tools))}
            yield made
            return
        for number, message in enumerate(messages):
            last = number == len(messages) - 1
            if number == 0 or _role(message) != "assistant" or not (last or message.get("tool_calls")):
                continue
            answer = self._gold(message, row.where)
            if answer is not None:
                turn = {"id": name if last else f"{name}-at-{number}", "messages": messages[:number]}
                yield {**made, **turn, "gold": answer, "accepted": accepted(answer, tools)}

    def _gold(self, message: Object, where: str) -> list[Object] | None:
        calls = message.get("tool_calls") or []
        try:
            return [_plain(call["function"], where) for call in calls]
        except (KeyError, TypeError, ValueError, RecursionError):
            self._notes.add("calls whose arguments are no JSON object; turn left out", where)
            return None


def _wrapped(tools: list[Json]) -> list[Object]:
    """Tools in OpenAI's wrapping, whether they had it or not."""
    bare = [t["function"] if isinstance(t, dict) and isinstance(t.get("function"), dict) else t for t in tools]
    return [{"type": "function", "function": function} for function in bare]


def _role(message: Json) -> Json:
    return message.get("role") if isinstance(message, dict) else None


def _plain(function: Object, where: str) -> Object:
    arguments = function.get("arguments") or {}
    read = json.loads(arguments) if isinstance(arguments, str) else arguments
    if not isinstance(read, dict):
        raise TypeError(arguments)
    return {"name": needed(function, "name", str, where), "arguments": read}
