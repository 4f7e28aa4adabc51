"""A sidecar that is killed again and again, or stopped for good: no output changes, nobody waits, nobody is left.

``tools/soak.py`` does the same with real models.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys

import psutil
import pytest

from faults.preloaded import MARK, marked
from helpers.processes import gone, state, until, wait_for_end
from helpers.sidecars import started, stub_sidecar
from helpers.stubs import YieldingExecutor, ask, call
from oospec_async.completion import Completion
from oospec_async.runtime.engine import Engine
from oospec_async.runtime.executor import InlineExecutor
from oospec_async.runtime.ports import SidecarPort
from oospec_async.testing import END, ScriptedSidecar, ScriptedTarget, scripted_engine

CITIES = {f"{n}?": call(f"City {n}", n) for n in range(60)}


def check_output(completion: Completion, text: str) -> None:
    assert completion.tokens == (*map(ord, text), END)


def test_a_sidecar_killed_at_random_rounds_of_many_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    chance, killed = random.Random(1), set[int]()
    monkeypatch.setenv(MARK, "killed at random rounds")

    async def serve() -> int:
        async with started(stub_sidecar("wrong values")) as sidecar:
            target = ScriptedTarget(CITIES)
            engine = scripted_engine(target, sidecar, executor=YieldingExecutor(), method="hint")
            for text, answer in CITIES.items():
                fatal = chance.randrange(1, 60)

                def kill(round_: int, fatal: int = fatal) -> None:
                    # The death of the last one may not be noticed yet.
                    if round_ == fatal and (pid := sidecar.pid) not in (None, *killed):
                        killed.add(pid)
                        os.kill(pid, signal.SIGKILL)

                if chance.random() < 0.5:
                    await until(lambda: sidecar.pid)
                target.before_verify = kill
                check_output(await engine.generate(ask(text)), answer)
            await until(lambda: sidecar.pid not in (None, *killed))
            return sidecar.restarts

    restarts = asyncio.run(serve())
    assert restarts >= len(killed) >= len(CITIES) // 4
    assert all(gone(pid) for pid in killed)
    assert marked("killed at random rounds") == []


async def turns_of(engine: Engine, text: str) -> int:
    """Turns of the loop until a request is served; its forwards take none."""
    task, turns = asyncio.create_task(engine.generate(ask(text))), 0
    while not task.done():
        turns += 1
        await asyncio.sleep(0)
    check_output(task.result(), CITIES[text])
    return turns


def test_a_sidecar_that_is_stopped_for_good_delays_no_round_and_ends_with_the_engine() -> None:
    def engine(sidecar: SidecarPort) -> Engine:
        return scripted_engine(ScriptedTarget(CITIES), sidecar, executor=InlineExecutor())

    async def serve() -> tuple[list[int], list[int], int]:
        silent = engine(ScriptedSidecar())  # one whose waves never end
        undisturbed = [await turns_of(silent, text) for text in CITIES]
        async with started(stub_sidecar("wrong values")) as sidecar:
            pid = sidecar.pid
            assert pid is not None
            os.kill(pid, signal.SIGSTOP)
            stopped = engine(sidecar)
            return undisturbed, [await turns_of(stopped, text) for text in CITIES], pid

    undisturbed, turns, pid = asyncio.run(serve())
    assert turns == undisturbed
    assert gone(pid)


# A real worker but for its model, stopped; then its parent is killed, and cannot end it.
PARENT = """
import asyncio, os, signal, sys
from pathlib import Path
from oospec_async.devices import Device
from oospec_async.sidecar.messages import SidecarConfig
from oospec_async.sidecar.process import SidecarProcess
worker = "from oospec_async.sidecar import worker as w; w._load = lambda config: None; w.main()"

async def main():
    config = SidecarConfig(Path("/nowhere"), "tiny", Device("cpu"), "float32")
    sidecar = SidecarProcess(config, command=(sys.executable, "-c", worker))
    await sidecar.start()
    os.kill(sidecar.pid, signal.SIGSTOP)
    print(sidecar.pid, flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_a_sidecar_that_is_stopped_does_not_outlive_a_parent_that_is_killed(loop: str) -> None:
    code = PARENT.replace("asyncio.run(", "import uvloop; uvloop.run(") if loop == "uvloop" else PARENT
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        asyncio.run(until(lambda: state(pid) == psutil.STATUS_STOPPED))
        parent.kill()
        parent.wait()
        wait_for_end(pid)
