"""A teacher behind an OpenAI-compatible address (vLLM, llama.cpp, SGLang, …)."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import os
import threading
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any, TypeVar

from oospec_async.errors import OospecError
from oospec_async.request import Json, Request
from oospec_async.toolcall import parse_calls
from oospec_async.training.data.readers.base import Object
from oospec_async.training.teach.reply import Reply

T = TypeVar("T")

_SECONDS = 600.0  # a request that takes longer has failed


class Endpoint:
    """Greedy chat completions. A key, where the server asks for one, is taken from ``OPENAI_API_KEY``."""

    def __init__(self, address: str, model: str) -> None:
        base = address.rstrip("/")
        self._url = base if base.endswith("/chat/completions") else f"{base}/chat/completions"
        self._model = model

    async def reply(self, request: Request) -> Reply:
        """Raises OospecError if the server cannot be reached or answers with other than a completion."""
        answer = await _abandonable(lambda: self._post(self._body(request)))
        return self._read(answer)

    def _body(self, request: Request) -> Object:
        tools = [] if request.tools_in_prompt else [tool.as_openai() for tool in request.tools]
        body: Object = {
            "model": self._model,
            "messages": [message.model_dump(exclude_none=True) for message in request.messages],
            "max_tokens": request.max_new_tokens,
            "temperature": 0,
        }
        return {**body, "tools": tools} if tools else body

    def _post(self, body: Object) -> Json:
        headers = {"Content-Type": "application/json"}
        if key := os.environ.get("OPENAI_API_KEY"):
            headers["Authorization"] = f"Bearer {key}"
        data = json.dumps(body).encode()
        asked = urllib.request.Request(self._url, data, headers)
        try:
            with urllib.request.urlopen(asked, timeout=_SECONDS) as response:
                return json.loads(response.read())
        except urllib.error.HTTPError as error:
            with error:
                said = " ".join(error.read(500).decode("utf-8", "replace").split())
            raise OospecError(f"--teacher {self._url}: HTTP {error.code}: {said}") from None
        except (OSError, http.client.HTTPException, ValueError) as error:
            reason = getattr(error, "reason", None) or error
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


async def _abandonable(call: Callable[[], T]) -> T:
    """The result of a call that blocks, on a thread that nothing waits for: Ctrl-C is not to wait for a server."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def settle(set_: Callable[[Any], None], value: object) -> None:
        if not done.done():
            set_(value)

    def run() -> None:
        try:
            outcome: tuple[Callable[[Any], None], object] = done.set_result, call()
        except Exception as error:
            outcome = done.set_exception, error
        with contextlib.suppress(RuntimeError):  # the loop has gone
            loop.call_soon_threadsafe(settle, *outcome)

    threading.Thread(target=run, daemon=True).start()
    return await done


def _call(function: Object) -> Object:
    """Arguments that are no JSON object stay text; no schema is met by them, so the call will count as invalid."""
    arguments = function.get("arguments") or "{}"
    try:
        read = json.loads(arguments) if isinstance(arguments, str) else arguments
    except (ValueError, RecursionError):
        read = arguments
    return {"name": str(function["name"]), "arguments": read}
