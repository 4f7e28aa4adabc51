"""Ask a teacher: greedy calls for every request, by a causal LM on our own engine or by an OpenAI-compatible server."""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.progress import Progress

from oospec_async.errors import OospecError
from oospec_async.request import Json, Request
from oospec_async.runtime.config import EngineConfig
from oospec_async.runtime.engine import Engine
from oospec_async.training.records import Object
from oospec_async.training.stage import Growing, check_output, read_asked
from oospec_async.training.teach.endpoint import Endpoint
from oospec_async.training.teach.teacher import REFUSED, Reply, Teacher, asked, unanswered


@dataclass(frozen=True)
class TeachOptions:
    """``teacher``: a directory, a Hugging Face id, or an address of an OpenAI-compatible server."""

    teacher: str
    requests: Path
    out: Path
    model: str | None = None  # the name that a server knows its model by
    devices: str | None = None
    dtype: str = "bfloat16"
    limit: int | None = None
    max_new_tokens: int = 160


class EngineTeacher:
    """Plain greedy decoding, made faster by drafts that do not change it."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def reply(self, request: Request) -> Reply:
        try:
            self._engine.check(request)
        except OospecError as error:
            return Reply((), str(error), REFUSED)
        done = await self._engine.generate(request)
        said = (*done.calls, *done.invalid_calls)  # an answer that also calls what is not on offer is not taught
        return Reply([{"name": call.name, "arguments": call.arguments} for call in said], done.text, done.finish)


Opening = Callable[[TeachOptions, Progress], contextlib.AbstractAsyncContextManager[Teacher]]


@contextlib.asynccontextmanager
async def opened(options: TeachOptions, bar: Progress) -> AsyncIterator[Teacher]:
    if options.teacher.startswith(("http://", "https://")):
        if options.model is None:
            raise OospecError(f"--teacher {options.teacher}: say with --model what the server calls its model")
        yield Endpoint(options.teacher, options.model)
        return
    config = EngineConfig(
        target=options.teacher, sidecar=None, devices=options.devices, dtype=options.dtype, method="toolspec"
    )
    # The engine drafts, and its outputs are the target's own: the same as plain greedy decoding, sooner.
    async with Engine.open(
        config, lambda line: bar.console.print(line, style="dim", markup=False, soft_wrap=True)
    ) as engine:
        yield EngineTeacher(engine)


async def teach(options: TeachOptions, opening: Opening = opened) -> None:
    """Append a line a request: ``id``, ``asked``, ``calls``, ``text``, ``finish``, ``seconds``.

    A request that has a line is skipped, unless its messages or tools have changed since (``asked`` is their digest).
    Raises OospecError; what was answered before stays in the file.
    """
    check_output(options.out, options.requests)
    requests = _requests(options)
    said = {
        "teacher": options.teacher,
        "model": options.model,
        "dtype": options.dtype,
        "max_new_tokens": options.max_new_tokens,
    }
    fields = ("id", "asked", "calls", "finish")
    with Growing(options.out, "teach", said, [options.requests], fields, _counts).opened() as (journal, bar):
        left = unanswered(requests, journal.rows)
        task = bar.add_task("requests", total=len(requests), completed=len(requests) - len(left))
        if left:
            async with opening(options, bar) as teacher:
                for request in left:
                    journal.add(await _answered(teacher, request))
                    bar.advance(task)


async def _answered(teacher: Teacher, request: Request) -> Object:
    start = time.monotonic()
    reply = await teacher.reply(request)
    seconds = round(time.monotonic() - start, 3)
    calls = list(reply.calls)
    row: Object = {"id": request.id, "asked": asked(request), "calls": calls, "text": reply.text}
    return {**row, "finish": reply.finish, "seconds": seconds}


def _requests(options: TeachOptions) -> list[Request]:
    requests = read_asked(options.requests)[: options.limit]
    twice = next((name for name, count in Counter(r.id for r in requests).items() if count > 1), None)
    if twice is not None:
        raise OospecError(f"{options.requests}: id {twice!r} is used twice; ids must differ")
    return [request.model_copy(update={"max_new_tokens": options.max_new_tokens}) for request in requests]


def _counts(rows: Sequence[Object]) -> dict[str, Json]:
    finishes: Json = dict(sorted(Counter(str(row["finish"]) for row in rows).items()))
    return {"requests": len(rows), "with calls": sum(bool(row["calls"]) for row in rows), "finish": finishes}
