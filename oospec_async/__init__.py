"""oospec: tool calls several times faster, and nothing in them changed.

>>> async with Engine.open() as engine:
...     completion = await engine.generate(request)

Importing this package imports next to nothing; opening an engine imports torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from oospec_async.completion import Chunk, Completion, HintUse, Metrics
    from oospec_async.errors import OospecError
    from oospec_async.request import Message, Request, Tool, parse_request
    from oospec_async.request_file import read_requests
    from oospec_async.runtime.config import EngineConfig
    from oospec_async.runtime.engine import Engine
    from oospec_async.toolcall import InvalidCall, ToolCall, ToolCalls, parse_calls

__all__ = [
    "Chunk",
    "Completion",
    "Engine",
    "EngineConfig",
    "HintUse",
    "InvalidCall",
    "Message",
    "Metrics",
    "OospecError",
    "Request",
    "Tool",
    "ToolCall",
    "ToolCalls",
    "parse_calls",
    "parse_request",
    "read_requests",
]

_HOMES = {
    "completion": ("Chunk", "Completion", "HintUse", "Metrics"),
    "errors": ("OospecError",),
    "request": ("Message", "Request", "Tool", "parse_request"),
    "request_file": ("read_requests",),
    "runtime.config": ("EngineConfig",),
    "runtime.engine": ("Engine",),
    "toolcall": ("InvalidCall", "ToolCall", "ToolCalls", "parse_calls"),
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
