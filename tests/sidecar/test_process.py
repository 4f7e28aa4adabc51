"""The sidecar's process with a stand-in for its worker: what the parent sees of one that fails, hangs and dies."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from typing import Any

import psutil
import pytest

from helpers import stubs, tiny
from helpers.processes import gone, until
from helpers.sidecars import NO_MODEL, no_use, opened, stub_sidecar
from helpers.stubs import Run
from oospec_async.errors import OospecError
from oospec_async.sidecar import process
from oospec_async.sidecar.channel import Address
from oospec_async.sidecar.messages import read_said
from oospec_async.sidecar.process import SidecarProcess


@pytest.mark.parametrize(
    ("sidecar", "said"),
    [
        (lambda: stub_sidecar("refuses"), "^no such model$"),
        (lambda: stub_sidecar("exits"), "sidecar tiny: its process ended with code 3"),
        (
            lambda: SidecarProcess(NO_MODEL, command=("/nowhere/python",)),
            "its process cannot be started: .*No such file",
        ),
    ],
    ids=["gives up", "ends without a word", "no such program"],
)
def test_start_raises_the_reason_where_there_is_no_worker(
    sidecar: Callable[[], SidecarProcess], said: str, run: Run
) -> None:
    with pytest.raises(OospecError, match=said):
        run(opened(refused := sidecar(), no_use))
    assert refused.restarts == 0


def test_a_sidecar_that_was_never_started_can_be_closed_and_leaves_no_file_open(run: Run) -> None:
    before = psutil.Process().num_fds()
    sidecar = stub_sidecar("honest")
    run(sidecar.close())
    run(sidecar.close())
    del sidecar
    assert psutil.Process().num_fds() == before


def test_close_while_the_worker_starts_leaves_no_process(run: Run) -> None:
    before = psutil.Process().children()

    async def close_early(turns: int) -> None:
        sidecar = stub_sidecar("honest")
        starting = asyncio.create_task(sidecar.start())
        for _ in range(turns):
            await asyncio.sleep(0)
        starting.cancel()
        await asyncio.wait([starting])
        await sidecar.close()

    async def close_after_every_turn() -> None:
        for turns in range(5):
            await close_early(turns)
        await until(lambda: all(gone(child.pid) for child in psutil.Process().children() if child not in before))

    run(close_after_every_turn())


def test_what_is_no_report_is_ignored_and_the_wave_stays_open(run: Run) -> None:
    async def use(sidecar: SidecarProcess) -> None:
        pid = sidecar.pid
        wave = asyncio.create_task(sidecar.wave(Address(1), stubs.ask()))
        again = asyncio.create_task(sidecar.wave(Address(2), stubs.ask()))
        await asyncio.wait([wave, again], timeout=0.2)
        assert not wave.done(), wave.result()
        assert not again.done(), again.result()
        assert sidecar.pid == pid
        assert sidecar.restarts == 0

    run(opened(stub_sidecar("lies"), use))


@pytest.mark.parametrize("misdeed", ["dies", "endless line"])
def test_a_worker_that_is_lost_ends_its_wave_without_an_error_and_is_restarted(misdeed: str, run: Run) -> None:
    async def use(sidecar: SidecarProcess) -> None:
        for serial in (1, 2, 3):
            await until(lambda: sidecar.pid)
            pid = sidecar.pid
            assert await sidecar.wave(Address(serial), stubs.ask()) is None
            assert pid is not None
            await until(lambda pid=pid: gone(pid))  # type: ignore[misc]
            assert sidecar.restarts == serial - 1 or sidecar.restarts == serial

    run(opened(stub_sidecar(misdeed), use))


def test_while_there_is_no_worker_there_is_no_wave_and_the_next_one_writes_where_the_last_one_did(run: Run) -> None:
    async def use(sidecar: SidecarProcess) -> None:
        pid = sidecar.pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        await until(lambda: sidecar.pid is None)
        assert await sidecar.wave(Address(1), stubs.ask()) is None
        await until(lambda: sidecar.pid not in (None, pid))
        sidecar.reader.expect(Address(2), tiny.TOOLS)
        assert await sidecar.wave(Address(2), stubs.ask()) is not None
        assert sidecar.reader.poll() is not None
        assert sidecar.restarts == 1
        await sidecar.close()
        assert sidecar.pid is None
        assert await sidecar.wave(Address(3), stubs.ask()) is None

    run(opened(stub_sidecar("honest"), use))


def test_a_chattering_worker_does_not_keep_the_loop_from_its_turns(run: Run) -> None:
    async def use(sidecar: SidecarProcess) -> None:
        wave = asyncio.create_task(sidecar.wave(Address(1), stubs.ask()))
        lines, turns = 0, 0

        def counted(line: bytes) -> Any:
            nonlocal lines
            lines += 1
            return read_said(line)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(process, "read_said", counted)
            while lines < 2000:
                turns += 1
                await asyncio.sleep(0)
        assert turns >= lines, "more than a line a turn"
        wave.cancel()
        await asyncio.wait([wave])

    run(opened(stub_sidecar("chatter"), use))


def test_jobs_are_withheld_from_a_worker_that_reads_none(run: Run) -> None:
    async def use(sidecar: SidecarProcess) -> None:
        large = stubs.ask("x" * (1 << 18))
        waves = [asyncio.create_task(sidecar.wave(Address(n), large)) for n in range(1, 12)]
        await asyncio.sleep(0)
        done, pending = await asyncio.wait(waves, timeout=0)
        assert done, "the pipe is full"
        assert {wave.result() for wave in done} == {None}
        for wave in pending:
            wave.cancel()
        await asyncio.wait(waves)

    run(opened(stub_sidecar("stops"), use))


def test_memory_of_the_channel_cannot_be_shrunk_by_the_worker(run: Run) -> None:
    async def use(sidecar: SidecarProcess) -> None:
        sidecar.reader.expect(Address(1), stubs.ask().tools)
        before = bytes(sidecar._block)
        wave = asyncio.create_task(sidecar.wave(Address(1), stubs.ask()))
        await until(lambda: bytes(sidecar._block) != before)
        assert sidecar.reader.poll() is None
        wave.cancel()
        await asyncio.wait([wave])

    run(opened(stub_sidecar("shrinks the channel"), use))
