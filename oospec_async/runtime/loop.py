"""Run a coroutine on the fastest event loop that is installed."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from importlib.util import find_spec
from typing import Any, TypeVar

T = TypeVar("T")


def run_loop(main: Coroutine[Any, Any, T]) -> T:
    """As ``asyncio.run``, on uvloop where there is one."""
    if find_spec("uvloop") is None:
        return asyncio.run(main)
    import uvloop

    result: T = uvloop.run(main)
    return result
