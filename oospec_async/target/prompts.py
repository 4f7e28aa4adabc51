"""A request as prompt tokens, and the dialects in which its answer may write calls."""

from __future__ import annotations

import inspect
import json
from collections.abc import Sequence
from typing import Any

from oospec_async.dialects.dialect import NAMED, Dialect
from oospec_async.dialects.template import Form, dialect_from_template, form_of_arguments, takes_results, takes_tools
from oospec_async.errors import OospecError
from oospec_async.messages import Message
from oospec_async.request import Json, Request, Tool
from oospec_async.target.codec import TokenizerCodec

# For templates that ignore tools: how the calls are asked for. The dialect is the most widely trained one.
_DEFAULT = NAMED["hermes"]
_INSTRUCTION = """You can call functions. Their signatures, one JSON object a line:
<tools>
{tools}
</tools>
To call a function, answer with a JSON object that holds its name and arguments, within tags:
<tool_call>
{{"name": "...", "arguments": {{...}}}}
</tool_call>"""


class Prompts:
    """Renders requests with a tokenizer's own chat template."""

    def __init__(self, tokenizer: Any, name: str) -> None:
        """Raises OospecError if the tokenizer has no chat template."""
        if not getattr(tokenizer, "chat_template", None):
            raise OospecError(f"{name}: its tokenizer has no chat template; use an instruct or chat model")
        self._tokenizer = tokenizer
        self._codec = TokenizerCodec(tokenizer)
        self._name = name
        self._taken = frozenset({"self", "messages", *inspect.signature(tokenizer.apply_chat_template).parameters})
        self._takes_tools, self._takes_results = takes_tools(self._render), takes_results(self._render)
        self._form = form_of_arguments(self._render)
        read = dialect_from_template(self._render) or _DEFAULT
        others = [dialect for dialect in NAMED.values() if dialect.opener != read.opener]
        # Models fall back on a fenced block more often than on any other form that they were not asked for.
        self.dialects: tuple[Dialect, ...] = (read, *sorted(others, key=lambda dialect: dialect.name != "fenced"))

    def _render(
        self, messages: list[dict[str, Any]], tools: list[dict[str, Any]], prompt: bool, /, **more: Json
    ) -> str:
        text: str = self._tokenizer.apply_chat_template(
            messages, tools=tools or None, tokenize=False, add_generation_prompt=prompt, **more
        )
        return text

    def text(self, request: Request) -> str:
        """The prompt. Raises OospecError if the template refuses the messages, or cannot be given what is for it."""
        if taken := sorted(self._taken & request.chat_template_kwargs.keys()):
            raise OospecError(
                f"request {request.id!r}: chat_template_kwargs: {taken[0]!r} is no template variable; remove it"
            )
        tools: Sequence[Tool] = [] if request.tools_in_prompt else request.tools
        try:
            messages = self._messages(request)
            if tools and not self._takes_tools:
                messages, tools = _described(messages, tools), []
            text = self._render(messages, [tool.as_openai() for tool in tools], True, **request.chat_template_kwargs)
            text.encode()
        except Exception as error:  # jinja2 raises what the template's author chose
            reason = " ".join(str(error).split())
            raise OospecError(f"request {request.id!r}: {self._name}'s chat template refuses it: {reason}") from None
        return text

    def _messages(self, request: Request) -> list[dict[str, Any]]:
        messages = [_for_templates(message, self._form) for message in request.messages]
        if self._form is None:
            messages = [_with_calls_as_text(message) for message in messages]
        return messages if self._takes_results else [_result_as_user(message) for message in messages]

    def ids(self, request: Request) -> list[int]:
        return self._codec.encode(self.text(request))


def _for_templates(message: Message, form: Form | None) -> dict[str, Any]:
    """A message in the form that chat templates know: no developers, and a content, if an empty one."""
    role = "system" if message.role == "developer" else message.role
    told = message.as_openai() if form == "text" else message.model_dump(exclude_none=True)
    return {**told, "role": role, "content": message.content or ""}


def _with_calls_as_text(message: dict[str, Any]) -> dict[str, Any]:
    """For templates that know no calls: an assistant's stand in what it has said, in the form that is asked for."""
    calls = [call["function"] for call in message.pop("tool_calls", [])]
    objects = [json.dumps({k: call[k] for k in ("name", "arguments")}, ensure_ascii=False) for call in calls]
    written = f"{_DEFAULT.opener}{_DEFAULT.between.join(objects)}{_DEFAULT.closer}" if objects else ""
    return {**message, "content": "\n".join(filter(None, (message["content"], written)))}


def _result_as_user(message: dict[str, Any]) -> dict[str, Any]:
    """For templates that know no results of calls: as Hermes and Qwen tell them."""
    if message["role"] != "tool":
        return message
    return {"role": "user", "content": f"<tool_response>\n{message['content']}\n</tool_response>"}


def _described(messages: list[dict[str, Any]], tools: Sequence[Tool]) -> list[dict[str, Any]]:
    """Messages with the tools described in the system message."""
    lines = "\n".join(json.dumps(tool.as_openai()["function"], ensure_ascii=False) for tool in tools)
    text = _INSTRUCTION.format(tools=lines)
    if messages[0]["role"] == "system":
        return [{**messages[0], "content": f"{messages[0]['content']}\n\n{text}"}, *messages[1:]]
    return [{"role": "system", "content": text}, *messages]
