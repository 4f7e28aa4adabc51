"""The soak: requests by many methods, cancelled, left and hit by a killed sidecar, and what that leaves behind."""

from __future__ import annotations

import asyncio
import gc
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass, field, replace

from oospec_async.completion import Completion
from oospec_async.decoding.memory import Memory
from oospec_async.errors import OospecError
from oospec_async.request import Request
from oospec_async.runtime.engine import Engine
from oospec_async.sidecar.channel import Address
from oospec_async.sidecar.process import SidecarProcess
from tools.soaking.footprint import Footprint, footprint
from tools.soaking.hostile import HostileSidecar, Sending
from tools.soaking.models import Models

METHODS = ("ar", "pld", "toolspec", "oospec", "schema+hint")
HISTORY = 12  # outputs that a method remembers here: full before the first footprint that counts
BASE = 100  # requests before it
_STEP = 100  # requests between footprints
_KILL_EVERY = 40  # requests
_STOPPED_FOR = 8  # requests that a stopped sidecar stays so before it is killed
_PATIENCE = 120.0  # seconds
_NO_REQUEST = 1 << 40  # above all serials of an engine


@dataclass
class Soak:
    """What has happened so far."""

    served: int = 0
    done: Counter[str] = field(default_factory=Counter)  # by what became of requests and sidecars
    wrong: list[str] = field(default_factory=list)  # outputs that are not generate's
    footprints: list[tuple[int, Footprint]] = field(default_factory=list)  # requests served before, footprint


class Server:
    """Serves requests with one engine, and does harm to its sidecar. All choices are the seed's."""

    def __init__(self, engine: Engine, models: Models, seed: int, say: Callable[[int], object]) -> None:
        sidecar = engine.parts.sidecar
        assert isinstance(sidecar, SidecarProcess)
        self._engine = Engine(replace(engine.parts, memory=lambda: Memory(HISTORY)))
        self._sidecar, self._models, self._say = sidecar, models, say
        self._chance = random.Random(seed)
        self._stopped_until = -1
        self._killed: set[int] = set()
        self.soak = Soak()

    async def serve(self, requests: int) -> Soak:
        base = min(BASE, requests // 2)
        # What may be done with a request, and how often.
        actions = {self._generate: 12, self._stream: 4, self._leave: 2, self._cancel: 2, self._crowd: 1}
        for number in range(requests):
            if number == base or (number > base and (number - base) % _STEP == 0):
                await self._settle(number)
            request = self._chance.choice(self._models.requests)
            await self._harm(number)
            (action,) = self._chance.choices(list(actions), list(actions.values()))
            await action(request, METHODS[number % len(METHODS)])
            self.soak.served += 1
            self._say(self.soak.served)
        await self._settle(requests)
        return self.soak

    def _check(self, completion: Completion) -> None:
        self.soak.done["finished"] += 1
        if completion.tokens != self._models.expected[completion.request]:
            self.soak.wrong.append(f"{completion.request} by {completion.method}")

    async def _generate(self, request: Request, method: str) -> None:
        self._check(await self._engine.generate(request, method))

    async def _stream(self, request: Request, method: str) -> None:
        async for item in self._engine.stream(request, method):
            if isinstance(item, Completion):
                self._check(item)

    async def _leave(self, request: Request, method: str) -> None:
        """Take some chunks of a stream, then go."""
        chunks = self._chance.randrange(1, 20)
        async with aclosing(self._engine.stream(request, method)) as stream:
            async for _ in stream:
                chunks -= 1
                if chunks <= 0:
                    break
        self.soak.done["left early"] += 1

    async def _cancel(self, request: Request, method: str) -> None:
        """Cancel after some time, which may be before the first forward or after the last."""
        task = asyncio.create_task(self._engine.generate(request, method))
        await asyncio.wait([task], timeout=self._chance.uniform(0.0, 0.1))
        task.cancel()
        await asyncio.wait([task])
        if task.cancelled():
            self.soak.done["cancelled"] += 1
        else:
            self._check(task.result())

    async def _crowd(self, request: Request, method: str) -> None:
        """Three at once, of which the second is cancelled while it waits for its turn."""
        tasks = [asyncio.create_task(self._engine.generate(request, method)) for _ in range(3)]
        await asyncio.sleep(0)
        tasks[1].cancel()
        await asyncio.wait(tasks)
        self.soak.done["cancelled"] += 1
        for task in (tasks[0], tasks[2]):
            self._check(task.result())

    async def _harm(self, number: int) -> None:
        """Kill the sidecar now and then within the next request, or stop it, and kill it some requests later."""
        pid = self._sidecar.pid
        if pid is None:
            return
        if number == self._stopped_until:
            self._kill(pid)
        elif number % _KILL_EVERY == _KILL_EVERY // 2 and number > self._stopped_until:
            if self._chance.random() < 0.3:
                os.kill(pid, signal.SIGSTOP)
                self._stopped_until = number + _STOPPED_FOR
                self.soak.done["sidecars stopped"] += 1
            else:
                asyncio.get_running_loop().call_later(self._chance.uniform(0.0, 0.1), self._kill, pid)

    def _kill(self, pid: int) -> None:
        if self._sidecar.pid == pid and pid not in self._killed:  # its death may not be noticed yet
            os.kill(pid, signal.SIGKILL)
            self._killed.add(pid)
            self.soak.done["sidecars killed"] += 1

    async def _settle(self, number: int) -> None:
        """Wait for a sidecar that has done what sidecars do, then look at what all of this holds.

        A new one has its memory yet to grow: it is given a whole wave of every request. Raises OospecError.
        """
        deadline = time.monotonic() + _PATIENCE
        for serial, request in enumerate(self._models.requests, _NO_REQUEST):
            while await self._wave(serial, request) is None:
                if time.monotonic() > deadline:
                    raise OospecError(f"after {number} requests: the sidecar is not back after {_PATIENCE:.0f} s")
                await asyncio.sleep(0.05)
        gc.collect()
        self.soak.footprints.append((number, footprint()))
        self.soak.done["sidecars restarted"] = self._sidecar.restarts

    async def _wave(self, serial: int, request: Request) -> object:
        if (pid := self._sidecar.pid) is not None and self._stopped_until >= 0:
            self._kill(pid)
            self._stopped_until = -1
        return await self._sidecar.wave(Address(serial), request)


async def serve_under_hostile_hints(
    engine: Engine, models: Models, hints: int, seed: int, say: Callable[[int], object]
) -> tuple[int, list[str]]:
    """Decode until so many hostile hints were sent, a new one in every round. Returns how many, and wrong outputs."""
    sidecar, wrong = HostileSidecar(random.Random(seed)), list[str]()
    executor = Sending(engine.parts.executor, sidecar)
    hostile = Engine(replace(engine.parts, sidecar=sidecar, executor=executor, memory=lambda: Memory(HISTORY)))
    while sidecar.sent < hints:
        for request in models.requests:
            completion = await hostile.generate(request, "hint")
            if completion.tokens != models.expected[request.id]:
                wrong.append(f"{request.id} by hint, under hostile hints")
        say(min(sidecar.sent, hints))
    return sidecar.sent, wrong
