"""A request as prompt tokens, and the dialects in which its answer may write calls."""

from __future__ import annotations

import inspect
import json
from collections.abc import Sequence
from typing import Any

from oospec_async.dialects.dialect import NAMED, Dialect
from oospec_async.dialects.template import dialect_from_template, takes_tools
from oospec_async.errors import OospecError
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
        self._takes_tools = takes_tools(self._render)
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
        messages = [_for_templates(message.model_dump(exclude_none=True)) for message in request.messages]
        tools = [] if request.tools_in_prompt else [tool.as_openai() for tool in request.tools]
        if tools and not self._takes_tools:
            messages, tools = _described(messages, request.tools), []
        try:
            text = self._render(messages, tools, True, **request.chat_template_kwargs)
            text.encode()
        except Exception as error:  # jinja2 raises what the template's author chose
            reason = " ".join(str(error).split())
            raise OospecError(f"request {request.id!r}: {self._name}'s chat template refuses it: {reason}") from None
        return text

    def ids(self, request: Request) -> list[int]:
        return self._codec.encode(self.text(request))


def _for_templates(message: dict[str, Any]) -> dict[str, Any]:
    """An OpenAI message in the form that chat templates know: no developers, and arguments as objects, not as text."""
    role = "system" if message["role"] == "developer" else message["role"]
    calls = message.get("tool_calls")
    if not isinstance(calls, list):
        return {**message, "role": role}
    content = message.get("content", "")  # templates look at it, also where there are only calls
    return {**message, "role": role, "content": content, "tool_calls": [_with_object(call) for call in calls]}


def _with_object(call: Json) -> Json:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict) or not isinstance(function.get("arguments"), str):
        return call
    try:
        return {**call, "function": {**function, "arguments": json.loads(function["arguments"])}}
    except (ValueError, RecursionError):
        return call


def _plain(content: Json) -> str:
    """A message's content as text; of a list of parts, the texts."""
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return "" if content is None else str(content)


def _described(messages: list[dict[str, Any]], tools: Sequence[Tool]) -> list[dict[str, Any]]:
    """Messages with the tools described in the system message."""
    lines = "\n".join(json.dumps(tool.as_openai()["function"], ensure_ascii=False) for tool in tools)
    text = _INSTRUCTION.format(tools=lines)
    if messages[0]["role"] == "system":
        return [{**messages[0], "content": f"{_plain(messages[0].get('content'))}\n\n{text}"}, *messages[1:]]
    return [{"role": "system", "content": text}, *messages]
