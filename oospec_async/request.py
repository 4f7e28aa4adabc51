"""Requests: messages and tools in the OpenAI format, and the slots that the tools define."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Literal

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

from oospec_async.files.validation import validated
from oospec_async.messages import Message as Message
from oospec_async.messages import Name, Sent, unwrapped
from oospec_async.schema import Json as Json
from oospec_async.schema import Kind, kind_of, plain


def _one_or_many(value: Json) -> Json:
    return [value] if isinstance(value, str) else value


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


# The schema of the arguments, as OpenAI, MCP and Anthropic name it.
_SCHEMA_NAMES = AliasChoices("parameters", "inputSchema", "input_schema")
_OF_RESULTS = ("outputSchema", "output_schema", "response", "returns")


def _looks_like_a_schema(value: Json) -> bool:
    if not isinstance(value, dict):
        return False
    described = bool(value) and all(isinstance(each, dict) and "type" in each for each in value.values())
    return described or "properties" in value or "$ref" in value or kind_of(value) == "object"


class Tool(Sent):
    """A function that the model may call. ``parameters`` is its JSON schema, kept as written for the prompt."""

    name: Name
    description: str = ""
    parameters: dict[str, Json] = Field(default_factory=dict, validation_alias=_SCHEMA_NAMES)

    @model_validator(mode="before")
    @classmethod
    def _present(cls, value: Json) -> Json:
        """Raises ValueError for a schema under a name that is not read: the tool would seem to take no arguments."""
        tool = unwrapped(value)
        if isinstance(tool, dict) and not any(name in tool for name in _SCHEMA_NAMES.choices):
            others = {key: item for key, item in tool.items() if key not in _OF_RESULTS}
            if lost := next((key for key in others if _looks_like_a_schema(others[key])), None):
                raise ValueError(f"{lost!r} looks like the schema of the arguments; name it 'parameters'")
        return tool

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


_LIMIT_NAMES = AliasChoices("max_new_tokens", "max_tokens", "max_completion_tokens")  # the last two are OpenAI's


class Request(Sent):
    """Messages, tools and generation limits.

    ``max_new_tokens`` counts output tokens, the end-of-sequence token included, as ``transformers`` counts them.
    """

    messages: tuple[Message, ...] = Field(min_length=1)
    tools: tuple[Tool, ...] = ()
    max_new_tokens: int = Field(default=256, validation_alias=_LIMIT_NAMES, ge=1, strict=True)
    stop: Annotated[tuple[Name, ...], BeforeValidator(_one_or_many)] = ()
    id: str = ""
    tools_in_prompt: bool = False  # the messages already describe the tools; they are not given to the chat template
    chat_template_kwargs: dict[str, Json] = Field(default_factory=dict)  # such as {"enable_thinking": false}

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


class _BatchLine(Sent):
    """A line of OpenAI's batch files: a request in an envelope."""

    custom_id: Name
    method: Literal["POST"] = "POST"
    url: Literal["/v1/chat/completions"] = "/v1/chat/completions"
    body: Request


def is_batch_line(raw: Json) -> bool:
    return isinstance(raw, dict) and "body" in raw and "messages" not in raw


def parse_request(raw: Json, where: str) -> Request:
    """Validate one request, bare or as a line of a batch. Raises OospecError, one line: ``where`` and the field."""
    if is_batch_line(raw):
        line = validated(_BatchLine, raw, where, "a batch line")
        return line.body.model_copy(update={"id": line.custom_id})
    return validated(Request, raw, where, "a JSON object with 'messages' and 'tools'")
