"""A tool, calls of it, and requests: what tests let a scripted target be asked."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec, TypeVar

from oospec_async.completion import Completion
from oospec_async.hints import CallHint, Hint
from oospec_async.request import Message, Request, Tool
from oospec_async.runtime.engine import Engine

P = ParamSpec("P")
T = TypeVar("T")
Run = Callable[[Coroutine[Any, Any, Any]], Any]  # runs a coroutine to its end

WEATHER = Tool(
    name="get_weather",
    parameters={
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
        "required": ["city", "days"],
    },
)
HINT = Hint((CallHint("get_weather", {"city": "Paris", "days": 3}),))


def call(city: str, days: int = 3) -> str:
    """A call of ``WEATHER`` as hermes models write it."""
    value = {"name": "get_weather", "arguments": {"city": city, "days": days}}
    return f"<tool_call>\n{json.dumps(value, ensure_ascii=False)}\n</tool_call>"


CALL = call("Paris")


def ask(text: str = "Paris?", **more: Any) -> Request:
    return Request(messages=(Message(role="user", content=text),), tools=(WEATHER,), **{"id": text, **more})


class YieldingExecutor:
    """Runs calls on the caller's thread, after every other task has had its turn."""

    async def run(self, function: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T:
        await asyncio.sleep(0)
        return function(*arguments, **options)

    def close(self) -> None:
        return


def served(engine: Engine, request: Request | None = None, method: str | None = None) -> Completion:
    return asyncio.run(engine.generate(request or ask(), method))
