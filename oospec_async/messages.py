"""Messages as clients send them, read into one form: content as text, arguments of earlier calls as objects."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationInfo, field_validator, model_validator

from oospec_async.schema import Json

Name = Annotated[str, Field(min_length=1)]

_TEXT_PARTS = ("text", "input_text", "output_text")  # the last two are of OpenAI's newer API


class Sent(BaseModel):
    """What a client sends. Many write null where they have nothing to say: it is the field left out."""

    model_config = ConfigDict(frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _present(cls, value: Json) -> Json:
        return present(value)


def present(value: Json) -> Json:
    return {key: item for key, item in value.items() if item is not None} if isinstance(value, dict) else value


def arguments_of(value: Json) -> Json:
    """A call's arguments as an object. Some clients, and some models, write "no arguments" as nothing, or as null.

    Text that is no JSON stays as it is.
    """
    if isinstance(value, str):
        try:
            value = json.loads(value) if value.strip() else None
        except (ValueError, RecursionError):
            return value
    return {} if value is None else value


def unwrapped(raw: Json) -> Json:
    """``{"type": "function", "function": {…}}`` and the bare inner object alike, as the inner one."""
    raw = present(raw)
    if not isinstance(raw, dict) or not isinstance(raw.get("function"), dict):
        return raw
    return {key: item for key, item in raw.items() if key not in ("type", "function")} | present(raw["function"])


def _joined(parts: Sequence[Json]) -> str:
    """The text of parts, line by line. Raises ValueError, naming what is no text."""
    return "\n".join(text for number, part in enumerate(parts) if (text := _part(number, part)) is not None)


def _part(number: int, part: Json) -> str | None:
    if isinstance(part, str):
        return part
    kind = part.get("type", "text") if isinstance(part, dict) else type(part).__name__
    if kind == "refusal":  # beside content it is not told to the model either
        return None
    text = part.get("text") if kind in _TEXT_PARTS else None
    if not isinstance(text, str):
        wanting = "has no text" if kind in _TEXT_PARTS else f"is {kind!r}, and only text can be read"
        raise ValueError(f"part {number} {wanting}; remove it or write what it says as text")
    return text


class CalledFunction(Sent):
    model_config = ConfigDict(extra="allow")

    name: Name
    arguments: Annotated[Json, BeforeValidator(arguments_of)] = Field(default_factory=dict)


class EarlierCall(Sent):
    """A call in an assistant's message; a bare ``{"name", "arguments"}`` is taken too. Unknown keys are kept."""

    model_config = ConfigDict(extra="allow")

    id: str | None = None
    type: str | None = None
    function: CalledFunction

    @model_validator(mode="before")
    @classmethod
    def _present(cls, value: Json) -> Json:
        value = present(value)
        is_bare = isinstance(value, dict) and "name" in value and "function" not in value
        return {"function": value} if is_bare else value


class Message(Sent):
    """One chat message; unknown keys are kept for the template."""

    model_config = ConfigDict(extra="allow")

    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | None = None
    tool_calls: Annotated[list[EarlierCall] | None, BeforeValidator(lambda calls: calls or None)] = None  # never empty

    def as_openai(self) -> dict[str, Json]:
        """The form that OpenAI's own clients send: arguments as JSON text."""
        message = self.model_dump(exclude_none=True)
        for function in (call["function"] for call in message.get("tool_calls", ())):
            if not isinstance(function["arguments"], str):
                function["arguments"] = json.dumps(function["arguments"], ensure_ascii=False)
        return message

    @field_validator("content", mode="before")
    @classmethod
    def _text(cls, content: Json, info: ValidationInfo) -> Json:
        if isinstance(content, list | tuple):
            return _joined(content)
        if info.data.get("role") == "tool" and not isinstance(content, str):  # what a call gave, as it was returned
            return json.dumps(content, ensure_ascii=False, default=str)
        return content
