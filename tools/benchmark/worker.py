"""What a worker does: it opens one engine, and serves requests by the methods that can share it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from oospec_async.decoding.tree import VerifyCurve
from oospec_async.errors import OospecError
from oospec_async.request import Message, Request, Tool
from oospec_async.runtime.config import EngineConfig
from oospec_async.runtime.engine import Engine
from oospec_async.runtime.parts import Parts
from tools.benchmark.methods import find
from tools.benchmark.methods.base import Server
from tools.benchmark.process import Jobs, Say, Spec
from tools.benchmark.rows import Measured

_CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
_WARM_UP = Request(
    messages=(Message(role="user", content="What is the weather like in Rome?"),),
    tools=(Tool(name="get_weather", description="Weather of a city.", parameters=_CITY),),
    max_new_tokens=8,
    id="warm-up",
)


@dataclass
class Worker:
    """The servers of a worker's methods, by name. Public methods are the jobs that it takes."""

    servers: dict[str, Server]

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

    async def begin(self) -> None:
        """A run: every method starts cold."""
        for server in self.servers.values():
            server.forget()

    async def serve(self, method: str, request: Request, known: Sequence[int] | None, *, cold: bool) -> Measured | str:
        """The request, measured, or the reason why it could not be served.

        ``known``: the request's output, for a method that is made from it; None where it has none.
        """
        server = self.servers[method]
        if cold:
            server.forget()
        try:
            if known is None:
                raise OospecError(f"request {request.id!r}: has no plain output to make a hint from")
            return await server.serve(request, known)
        except OospecError as error:
            return str(error)


async def work(spec: Spec, jobs: Jobs, say: Say) -> None:
    """Open the engine and answer with its budget curve; then answer jobs. Raises OospecError if it cannot be opened."""
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
    async with Engine.open(config, lambda line: say("note", line)) as engine:
        parts = _with_curve(engine.parts, spec.curve)
        worker = Worker({name: find(base).open(parts, options) for name, base in spec.methods.items()})
        say("note", "serving a first request by each method, not measured")
        await worker.warm_up()
        say("answer", list(parts.curve.samples))
        async for what, arguments in jobs:
            say("answer", await _JOBS[what](worker, **arguments))


_JOBS: dict[str, Any] = {"begin": Worker.begin, "serve": Worker.serve}


def _with_curve(parts: Parts, curve: list[tuple[int, float]] | None) -> Parts:
    """Rows of one benchmark are drafted by one budget curve, also where it was stopped in between."""
    if curve is None or parts.setup is None:
        return parts
    known = VerifyCurve(tuple(curve))
    return replace(parts, curve=known, setup=replace(parts.setup, curve=known))
