"""A process that opens an engine and serves rows: ``python -m tools.benchmark.worker``, JSON lines on stdin and stdout.

The first line is its ``Spec``; then every line is a job and gets one answer, with ``note`` lines before it. It ends
when its stdin does, whatever it is doing, and its sidecar with it.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
import threading
import traceback
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from oospec_async.console.event_loop import run_loop
from oospec_async.decoding.tree import VerifyCurve
from oospec_async.errors import OospecError
from oospec_async.request import Message, Request, Tool
from oospec_async.runtime.config import EngineConfig
from oospec_async.runtime.engine import Engine
from oospec_async.runtime.parts import Parts
from tools.benchmark.history import History
from tools.benchmark.methods import find
from tools.benchmark.methods.base import Context, Server
from tools.benchmark.options import Options


class Spec(BaseModel):
    """What a worker is. ``methods``: full names and base names. ``curve``: of an earlier part of this benchmark."""

    name: str
    methods: dict[str, str]
    options: Options
    sidecar: bool
    drafter: bool
    cores: tuple[int, ...]
    reuse: bool
    curve: list[tuple[int, float]] | None
    history: Path


_CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
_WARM_UP = Request(
    messages=(Message(role="user", content="What is the weather like in Rome?"),),
    tools=(Tool(name="get_weather", description="Weather of a city.", parameters=_CITY),),
    max_new_tokens=8,
    id="warm-up",
)

Say = Callable[[Mapping[str, Any]], None]
Jobs = AsyncIterator[dict[str, Any]]


@dataclass
class Worker:
    """The servers of a worker's methods, and what is kept of them."""

    servers: dict[str, Server]
    history: History
    reuse: bool

    async def warm_up(self) -> None:
        """Have every method meet a first request that is not measured, and forget it.

        Raises OospecError naming the method that does not work here.
        """
        for name, server in self.servers.items():
            try:
                await server.serve(_WARM_UP, ())
            except OospecError as error:
                reason = str(error).removeprefix(f"request {_WARM_UP.id!r}: ")
                raise OospecError(f"method {name!r}: {reason}; leave it out of --methods") from None
            server.forget()

    async def answer(self, job: dict[str, Any]) -> dict[str, Any]:
        if "begin" in job:
            for server in self.servers.values():
                server.forget()
            return {"done": True}
        if "resume" in job:
            await self._resume(**job["resume"])
            return {"done": True}
        return await self._serve(**job["serve"])

    async def _resume(self, method: str, run: int, count: int, last: dict[str, Any]) -> None:
        server = self.servers[method]
        state = self.history.load(method, run, count)
        if self.reuse:  # the prompt that the next one may share a beginning with
            with contextlib.suppress(OospecError):
                await server.serve(Request.model_validate(last).model_copy(update={"max_new_tokens": 1}), ())
        server.recall(state)

    async def _serve(
        self,
        method: str,
        run: int,
        count: int,
        request: dict[str, Any],
        known: list[int] | None,
        record: bool,
        cold: bool,
    ) -> dict[str, Any]:
        server = self.servers[method]
        if cold:
            server.forget()
        answer: dict[str, Any]
        try:
            if known is None:
                raise OospecError(f"request {request['id']!r}: has no plain output to make a hint from")
            served = await server.serve(Request.model_validate(request), known, trace=record)
            answer = {"measured": served.measured.model_dump()}
            if served.trace is not None:
                answer["trace"] = served.trace.model_dump()
        except OospecError as error:
            answer = {"error": str(error)}
        self.history.save(method, run, count + 1, server.history)
        return answer


async def work(spec: Spec, jobs: Jobs, say: Say) -> None:
    """Open the engine, then answer jobs until there are no more. Raises OospecError if the engine cannot be opened."""
    options = spec.options
    config = EngineConfig(
        target=options.target,
        sidecar=options.sidecar if spec.sidecar else None,
        draft_model=options.draft_model if spec.drafter else None,
        adapter=options.adapter,
        devices=options.devices,
        dtype=options.dtype,
        method="ar",
        reuse_prefix=spec.reuse,
        record=True,
        finish_waves=True,  # no wave runs on into the next row
    )
    async with Engine.open(config, lambda line: say({"note": line})) as engine:
        parts = _with_curve(engine.parts, spec.curve)
        context = Context(parts, options)
        servers = {}
        for name, base in spec.methods.items():
            entry, argument = find(base)
            servers[name] = entry.open(context, argument)
        worker = Worker(servers, History(spec.history), spec.reuse)
        say({"note": "serving a first request by each method, not measured"})
        await worker.warm_up()
        say({"opened": {"curve": list(parts.curve.samples)}})
        async for job in jobs:
            say(await worker.answer(job))


def _with_curve(parts: Parts, curve: list[tuple[int, float]] | None) -> Parts:
    """Rows of one benchmark are drafted by one budget curve, also where it was stopped in between."""
    if curve is None or parts.setup is None:
        return parts
    known = VerifyCurve(tuple(curve))
    return replace(parts, curve=known, setup=replace(parts.setup, curve=known))


async def _lines(loop: asyncio.AbstractEventLoop) -> Jobs:
    """Jobs from stdin, read by a thread of their own: its end is seen whatever runs."""
    queue: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    def read() -> None:
        try:
            for line in sys.stdin:
                loop.call_soon_threadsafe(queue.put_nowait, json.loads(line))
        finally:
            os._exit(0)  # the main process is gone or through; what is worth saving is on disk

    threading.Thread(target=read, daemon=True).start()
    while True:
        yield await queue.get()


async def _main(say: Say) -> None:
    jobs = _lines(asyncio.get_running_loop())
    spec = Spec.model_validate(await anext(jobs))
    if spec.cores:
        os.sched_setaffinity(0, spec.cores)
    await work(spec, jobs, say)


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the main process decides when this one ends
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # whatever a library prints must not be taken for an answer

    def say(message: Mapping[str, Any]) -> None:
        print(json.dumps(message), file=answers)

    try:
        run_loop(_main(say))
    except OospecError as error:
        say({"fatal": str(error)})
    except Exception as error:
        traceback.print_exc()  # into the worker's log
        say({"fatal": " ".join(f"{type(error).__name__}: {error}".split())[:300], "unexpected": True})


if __name__ == "__main__":
    main()
