"""Chats in OpenAI's format, as fine-tuning files have them: each assistant turn with calls is a request's answer."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import Field, ValidationError, field_validator

from oospec_async.messages import Message, arguments_of
from oospec_async.request import Json, Tool
from oospec_async.training.data.readers.accepted import answered
from oospec_async.training.data.readers.base import Format
from oospec_async.training.records import Call, Object, Record, Row


class _Call(Call):
    arguments: Object = Field(default_factory=dict)

    @field_validator("arguments", mode="before")
    @classmethod
    def _of_text(cls, value: Json) -> Json:
        return arguments_of(value)


class _Chat(Record):
    messages: list[Message]
    tools: list[Tool] | None = None
    gold: list[_Call] | None = None


class OpenAi(Format):
    """``{"messages", "tools"}``. A chat that ends with the assistant's words has no call as its gold.

    A chat that ends otherwise is a request without an answer; ``gold`` and ``accepted``, where it has them, are kept.
    """

    def requests(self, row: Row) -> Iterator[Object]:
        chat = row.read(_Chat)
        messages = [message.as_openai() for message in chat.messages]
        name = row.data["id"] if isinstance(row.data.get("id"), str) and row.data["id"] else row.name
        made: Object = {"id": name, "messages": messages, "tools": [tool.as_openai() for tool in chat.tools or []]}
        if row.data.get("tools_in_prompt") is True:
            made["tools_in_prompt"] = True
        if chat.gold is not None:
            kept = {"accepted": row.data["accepted"]} if "accepted" in row.data else {}
            yield answered(made, chat.gold) | kept
        elif not messages or messages[-1]["role"] != "assistant":
            yield made
        else:
            yield from self._turns(made, row.where)

    def _turns(self, chat: Object, where: str) -> Iterator[Object]:
        name, messages = chat["id"], chat["messages"]
        for number, message in enumerate(messages):
            last = number == len(messages) - 1
            if number == 0 or message["role"] != "assistant" or not (last or message.get("tool_calls")):
                continue
            try:
                gold = [_Call.model_validate(call["function"]) for call in message.get("tool_calls") or []]
            except (KeyError, TypeError, RecursionError, ValidationError):
                self._notes.add("calls whose arguments are no JSON object; turn left out", where)
                continue
            turn = {"id": name if last else f"{name}-at-{number}", "messages": messages[:number]}
            yield answered({**chat, **turn}, gold)
