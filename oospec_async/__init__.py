"""oospec: tool calls several times faster, and nothing in them changed.

>>> async with Engine.open() as engine:
...     completion = await engine.generate(request)

Importing this package imports no torch; opening an engine does.
"""

from __future__ import annotations

from oospec_async.completion import Chunk, Completion, HintUse, Metrics
from oospec_async.errors import OospecError
from oospec_async.request import Message, Request, Tool, parse_request, read_requests
from oospec_async.runtime.config import EngineConfig
from oospec_async.runtime.engine import Engine
from oospec_async.toolcall import ToolCall, parse_calls

__all__ = [
    "Chunk",
    "Completion",
    "Engine",
    "EngineConfig",
    "HintUse",
    "Message",
    "Metrics",
    "OospecError",
    "Request",
    "Tool",
    "ToolCall",
    "parse_calls",
    "parse_request",
    "read_requests",
]
