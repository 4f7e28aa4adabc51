"""What becomes of a forward that fails: one line for whoever asked, and nothing of it kept in memory."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from oospec_async.errors import OospecError
from oospec_async.runtime.executor import Executor

P = ParamSpec("P")
T = TypeVar("T")

_LONGEST = 200  # characters of a library's own words
_OUT_OF_MEMORY = ("out of memory", "can't allocate memory", "alloc_failed", "failed to allocate")  # as libraries say it


class RequestFailed(OospecError):
    """A forward of this request failed; the engine goes on, and the next request is served."""


class GuardedExecutor:
    """An executor for the forwards of one request: what they raise names the request, in one line."""

    def __init__(self, inner: Executor, request: str) -> None:
        self._inner, self._request = inner, request

    async def run(self, function: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T:
        """Raises RequestFailed for whatever ``function`` raises; an OospecError passes as it is."""

        def guarded() -> T:
            try:
                return function(*arguments, **options)
            except OospecError:
                raise
            except Exception as error:
                traceback.clear_frames(error.__traceback__)  # its frames hold tensors
                raise RequestFailed(f"request {self._request!r}: {_reason(error)}") from error

        return await self._inner.run(guarded)

    def close(self) -> None:
        self._inner.close()


def _reason(error: Exception) -> str:
    words = " ".join(str(error).split())[:_LONGEST]
    said = f"{type(error).__name__}: {words}" if words else type(error).__name__
    kinds = [kind.__name__ for kind in type(error).__mro__]  # by name: this module knows no torch
    if {"MemoryError", "OutOfMemoryError"} & set(kinds) or any(mark in words.lower() for mark in _OUT_OF_MEMORY):
        return (
            f"the target's device is out of memory ({said}); "
            f"shorten the messages, offer fewer tools, or take a smaller target or dtype"
        )
    return f"the target failed ({said})"
