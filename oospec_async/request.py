"""Requests: messages and tools in the OpenAI format, and the slots that the tools define."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, field_validator
from pydantic_core import PydanticUseDefault

from oospec_async.errors import OospecError
from oospec_async.files.json_text import json_lines
from oospec_async.files.reading import decoded, read_bytes
from oospec_async.files.validation import validated
from oospec_async.schema import Json as Json
from oospec_async.schema import Kind, kind_of, plain


def _default_for_null(value: Json) -> Json:
    if value is None:
        raise PydanticUseDefault
    return value


def _one_or_many(value: Json) -> Json:
    return [value] if isinstance(value, str) else value


T = TypeVar("T")
_OrNull = Annotated[T, BeforeValidator(_default_for_null)]  # null stands for a field that is left out
_Text = Annotated[str, Field(min_length=1)]


class Parameter(BaseModel):
    """One argument of one function: a slot of the wave. Its schema is in plain form."""

    model_config = ConfigDict(frozen=True)

    name: str
    schema_: dict[str, Json] = Field(default_factory=dict)
    required: bool = False

    @property
    def kind(self) -> Kind:
        return kind_of(self.schema_)

    @property
    def enum(self) -> list[Json]:
        values = self.schema_.get("enum")
        return values if isinstance(values, list) else []

    @property
    def description(self) -> str:
        text = self.schema_.get("description")
        return text if isinstance(text, str) else ""


def _unwrap(raw: Json) -> Json:
    """Accept ``{"type": "function", "function": {…}}`` and the bare inner object alike."""
    if isinstance(raw, dict) and isinstance(raw.get("function"), dict):
        return raw["function"]
    return raw


class Tool(BaseModel):
    """A function that the model may call. ``parameters`` is its JSON schema, kept as written for the prompt."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    name: _Text
    description: _OrNull[str] = ""
    parameters: _OrNull[dict[str, Json]] = Field(default_factory=dict)

    @cached_property
    def slots(self) -> tuple[Parameter, ...]:
        """Parameters in schema order. A malformed part of a schema means fewer slots, never an error."""
        parameters = plain(self.parameters)
        properties, required = parameters.get("properties"), parameters.get("required")
        names = set(required) if isinstance(required, list) and all(isinstance(r, str) for r in required) else set()
        if not isinstance(properties, dict):
            return ()
        return tuple(
            Parameter(name=key, schema_=schema if isinstance(schema, dict) else {}, required=key in names)
            for key, schema in properties.items()
        )

    def slot(self, name: str) -> Parameter | None:
        return next((p for p in self.slots if p.name == name), None)

    def as_openai(self) -> dict[str, Json]:
        """The form that chat templates take."""
        function = {"name": self.name, "description": self.description, "parameters": self.parameters}
        return {"type": "function", "function": function}


class Message(BaseModel):
    """One chat message; unknown keys are kept for the template."""

    model_config = ConfigDict(extra="allow", frozen=True)

    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: Json = None


_LIMIT_NAMES = AliasChoices("max_new_tokens", "max_tokens", "max_completion_tokens")  # the last two are OpenAI's


class Request(BaseModel):
    """Messages, tools and generation limits.

    ``max_new_tokens`` counts output tokens, the end-of-sequence token included, as ``transformers`` counts them.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    messages: tuple[Message, ...] = Field(min_length=1)
    tools: _OrNull[tuple[Annotated[Tool, BeforeValidator(_unwrap)], ...]] = ()
    max_new_tokens: int = Field(default=256, validation_alias=_LIMIT_NAMES, ge=1, strict=True)
    stop: _OrNull[Annotated[tuple[_Text, ...], BeforeValidator(_one_or_many)]] = ()
    id: str = ""
    tools_in_prompt: bool = False  # the messages already describe the tools; they are not given to the chat template
    chat_template_kwargs: _OrNull[dict[str, Json]] = Field(default_factory=dict)  # such as {"enable_thinking": false}

    @field_validator("tools")
    @classmethod
    def _unique_names(cls, tools: tuple[Tool, ...]) -> tuple[Tool, ...]:
        names = [tool.name for tool in tools]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ValueError(f"two tools are named {twice!r}; rename or remove one")
        return tools

    def tool(self, name: str) -> Tool | None:
        return next((tool for tool in self.tools if tool.name == name), None)


def parse_request(raw: Json, where: str) -> Request:
    """Validate one request. Raises OospecError, one line, naming ``where`` and the field."""
    return validated(Request, raw, where, "a JSON object with 'messages' and 'tools'")


def read_requests(path: Path) -> list[Request]:
    """Read requests from a JSON Lines file. Raises OospecError naming the file and the line."""
    stem = path.stem.encode("utf-8", "backslashreplace").decode()  # a file's name need not be text
    text = decoded(read_bytes(path, "requests"), path)
    requests: dict[str, Request] = {}
    for number, where, value in json_lines(text, path, "one request a line"):
        request = parse_request(value, where)
        request = request if request.id else request.model_copy(update={"id": f"{stem}-{number}"})
        if request.id in requests:
            raise OospecError(f"{where}: id {request.id!r} is used twice; ids must differ")
        requests[request.id] = request
    if not requests:
        raise OospecError(f"{path}: no requests in this file")
    return list(requests.values())
