"""A teacher behind an OpenAI-compatible address (vLLM, llama.cpp, SGLang, …)."""

from __future__ import annotations

import json
import os

import httpx

from oospec_async.errors import OospecError
from oospec_async.request import Json, Request
from oospec_async.toolcall import parse_calls
from oospec_async.training.records import Object
from oospec_async.training.teach.teacher import Reply

_SECONDS = 600.0  # a request that takes longer has failed


class Endpoint:
    """Greedy chat completions. A key, where the server asks for one, is taken from ``OPENAI_API_KEY``."""

    def __init__(self, address: str, model: str, transport: httpx.AsyncBaseTransport | None = None) -> None:
        """``transport``: how the server is reached; default: over the network."""
        base = address.rstrip("/")
        self._url = base if base.endswith("/chat/completions") else f"{base}/chat/completions"
        self._model, self._transport = model, transport

    async def reply(self, request: Request) -> Reply:
        """Raises OospecError if the server cannot be reached or answers with other than a completion."""
        return self._read(await self._post(self._body(request)))

    def _body(self, request: Request) -> Object:
        tools = [] if request.tools_in_prompt else [tool.as_openai() for tool in request.tools]
        body: Object = {
            "model": self._model,
            "messages": [message.as_openai() for message in request.messages],
            "max_tokens": request.max_new_tokens,
            "temperature": 0,
        }
        return {**body, "tools": tools} if tools else body

    async def _post(self, body: Object) -> Json:
        key = os.environ.get("OPENAI_API_KEY")
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        try:
            async with httpx.AsyncClient(
                timeout=_SECONDS, follow_redirects=True, headers=headers, transport=self._transport
            ) as client:
                answer = await client.post(self._url, json=body)
            if not answer.is_success:
                said = " ".join(answer.text[:500].split())
                raise OospecError(f"--teacher {self._url}: HTTP {answer.status_code}: {said}")
            return answer.json()
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            reason = str(error) or type(error).__name__
            raise OospecError(f"--teacher {self._url}: {reason}; is the server running? A new start goes on") from None

    def _read(self, answer: Json) -> Reply:
        try:
            choice = answer["choices"][0]
            message = choice["message"]
            text = message.get("content") or ""
            calls = [_call(call["function"]) for call in message.get("tool_calls") or []]
            finish = str(choice.get("finish_reason") or "stop")
        except (KeyError, IndexError, TypeError, AttributeError):
            raise OospecError(f"--teacher {self._url}: the answer is no chat completion") from None
        if not calls:  # a server without a parser for this model leaves the calls in the text
            calls = [{"name": call.name, "arguments": call.arguments} for call in parse_calls(text)]
        return Reply(calls, text, finish)


def _call(function: Object) -> Object:
    """Arguments that are no JSON object stay text; no schema is met by them, so the call will count as invalid."""
    arguments = function.get("arguments") or "{}"
    try:
        read = json.loads(arguments) if isinstance(arguments, str) else arguments
    except (ValueError, RecursionError):
        read = arguments
    return {"name": str(function["name"]), "arguments": read}
