"""The sidecar's process: what the parent sees of it while it works, fails, hangs and dies."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import uvloop

from helpers import stubs, tiny
from helpers.stubs import Run
from oospec_async.errors import OospecError
from oospec_async.hints import encode_hint
from oospec_async.runtime import sidecar_worker
from oospec_async.runtime.channel import Address
from oospec_async.runtime.devices import Device
from oospec_async.runtime.ports import WaveReport
from oospec_async.runtime.sidecar_process import SidecarConfig, SidecarProcess

STUB = Path(stubs.__file__).with_name("stub_worker.py")
PATIENCE = 120  # seconds until a test that waits in vain fails


def stub_sidecar(misdeed: str, back_off: tuple[float, ...] = (0.0,)) -> SidecarProcess:
    config = SidecarConfig(Path("/nowhere"), "tiny", Device("cpu"), "float32")
    return SidecarProcess(config, command=(sys.executable, str(STUB), misdeed), back_off=back_off)


def gone(pid: int) -> bool:
    """Whether no such process is left, or only a zombie that nobody has waited for."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not condition():
            await asyncio.sleep(0)


async def opened(sidecar: SidecarProcess, use: Callable[[SidecarProcess], Awaitable[Any]]) -> Any:
    try:
        async with asyncio.timeout(PATIENCE):
            await sidecar.start()
            return await use(sidecar)
    finally:
        await sidecar.close()


# --- a real worker on a tiny model, one per event loop


@dataclass
class Live:
    runner: asyncio.Runner
    sidecar: SidecarProcess

    def run(self, use: Callable[[SidecarProcess], Awaitable[Any]]) -> Any:
        async def within() -> Any:
            async with asyncio.timeout(PATIENCE):
                return await use(self.sidecar)

        return self.runner.run(within())


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sidecar")
    tiny.random_model("llama", context=2048).save_pretrained(folder)
    tiny.tokenizer().save_pretrained(folder)
    return folder


def config_of(model: Path) -> SidecarConfig:
    return SidecarConfig(model, "tiny", Device("cpu"), "float32")


@pytest.fixture(scope="module", params=[asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def live(request: pytest.FixtureRequest, model: Path) -> Iterator[Live]:
    with asyncio.Runner(loop_factory=request.param) as runner:
        sidecar = SidecarProcess(config_of(model), back_off=(0.0,))
        runner.run(sidecar.start())
        yield Live(runner, sidecar)
        runner.run(sidecar.close())


def test_a_wave_gives_hints_and_a_report(live: Live) -> None:
    async def use(sidecar: SidecarProcess) -> WaveReport | None:
        sidecar.reader.expect(Address(1), tiny.TOOLS)
        return await sidecar.wave(Address(1), tiny.request())

    report = live.run(use)
    delivery = live.sidecar.reader.poll()
    assert report is not None
    assert report.error == ""
    assert not report.cancelled
    assert delivery is not None
    assert delivery.hint.calls[0].function in {tool.name for tool in tiny.TOOLS}
    published = [event for event in report.events if event.track == "channel"]
    assert published[-1].data["version"] == delivery.hint.version
    assert published[-1].data["bytes"] == delivery.payload_bytes
    assert [version for version, _ in report.payloads] == [event.data["version"] for event in published]
    assert report.payloads[-1] == (delivery.hint.version, encode_hint(delivery.hint))
    assert report.start_ns < delivery.published_ns <= report.end_ns
    assert [e.name for e in report.events if e.track == "sidecar"][:2] == ["prefill", "step"]


def test_a_cancelled_wave_does_not_hold_up_the_next_one(live: Live) -> None:
    async def use(sidecar: SidecarProcess) -> WaveReport | None:
        waves = [asyncio.create_task(sidecar.wave(Address(n), tiny.request())) for n in range(2, 6)]
        await asyncio.sleep(0)
        for wave in waves[:-1]:
            wave.cancel()
        await asyncio.wait(waves[:-1])
        assert all(wave.cancelled() for wave in waves[:-1])
        return await waves[-1]

    report = live.run(use)
    assert report is not None
    assert report.error == ""


def test_a_wave_that_fails_says_why_and_the_worker_stays(live: Live) -> None:
    pid = live.sidecar.pid

    async def use(sidecar: SidecarProcess) -> tuple[WaveReport | None, WaveReport | None]:
        long = tiny.request("word " * 4000, tools=tiny.TOOLS * 0 + (tiny.WEATHER,) + tuple(
            tiny.WEATHER.model_copy(update={"name": f"tool_{n}"}) for n in range(100)
        ))  # fmt: skip
        return await sidecar.wave(Address(10), long), await sidecar.wave(Address(11), tiny.request())

    failed, fine = live.run(use)
    assert failed is not None
    assert "exceed the model's context" in failed.error
    assert fine is not None
    assert fine.error == ""
    assert live.sidecar.pid == pid


def test_an_interrupt_does_not_end_the_worker(live: Live) -> None:
    pid = live.sidecar.pid
    assert pid is not None
    assert os.getpgid(pid) != os.getpgid(0), "Ctrl-C in the terminal must not reach it"
    os.kill(pid, signal.SIGINT)

    async def use(sidecar: SidecarProcess) -> WaveReport | None:
        return await sidecar.wave(Address(12), tiny.request())

    assert live.run(use) is not None
    assert live.sidecar.pid == pid


def test_a_worker_killed_in_mid_wave_ends_the_wave_without_an_error_and_is_restarted(live: Live) -> None:
    async def use(sidecar: SidecarProcess) -> None:
        pid = sidecar.pid
        assert pid is not None
        wave = asyncio.create_task(sidecar.wave(Address(20), tiny.request()))
        await asyncio.sleep(0)
        os.kill(pid, signal.SIGKILL)
        assert await wave is None
        assert await sidecar.wave(Address(21), tiny.request()) is None, "no worker: no wave, and no wait for one"
        await until(lambda: sidecar.pid not in (None, pid))
        sidecar.reader.expect(Address(22), tiny.TOOLS)
        report = await sidecar.wave(Address(22), tiny.request())
        assert report is not None
        assert sidecar.reader.poll() is not None
        assert sidecar.restarts == 1

    live.run(use)


def test_close_ends_a_worker_that_is_stopped_in_mid_wave(live: Live) -> None:
    async def use(sidecar: SidecarProcess) -> int:
        pid = sidecar.pid
        assert pid is not None
        wave = asyncio.create_task(sidecar.wave(Address(30), tiny.request()))
        await asyncio.sleep(0)
        os.kill(pid, signal.SIGSTOP)
        await sidecar.close()
        await asyncio.wait([wave])
        assert await sidecar.wave(Address(31), tiny.request()) is None
        return pid

    assert gone(live.run(use))
    assert live.sidecar.pid is None


# --- models that cannot be had


def worker_config(**changes: Any) -> dict[str, Any]:
    return {"name": "Org/Tiny", "device": "cpu", "dtype": "float32", "adapter": None, "channel": 0, **changes}


@pytest.fixture
def refused(model: Path, tmp_path: Path) -> Path:
    config = json.loads((model / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**config, "model_type": "gpt2"}))
    return tmp_path


@pytest.fixture
def foreign_adapter(tmp_path: Path) -> Path:
    folder = tmp_path / "adapter"
    folder.mkdir()
    adapter = {"peft_type": "LORA", "base_model_name_or_path": "Org/Other", "task_type": "CAUSAL_LM"}
    (folder / "adapter_config.json").write_text(json.dumps(adapter))
    (folder / "adapter_model.safetensors").write_bytes(b"")
    return folder


def test_a_refused_family_is_fatal(refused: Path) -> None:
    with pytest.raises(OospecError, match="Org/Tiny: refused: family 'gpt2'"):
        sidecar_worker._load(worker_config(path=str(refused)))


def test_an_adapter_for_another_base_is_fatal(model: Path, foreign_adapter: Path) -> None:
    with pytest.raises(OospecError, match="it belongs to Org/Other, not to Org/Tiny"):
        sidecar_worker._load(worker_config(path=str(model), adapter=str(foreign_adapter)))


def test_a_model_that_is_not_there_is_fatal(tmp_path: Path) -> None:
    with pytest.raises(OospecError, match=r"config\.json in .* cannot be used"):
        sidecar_worker._load(worker_config(path=str(tmp_path / "nothing")))


def test_start_raises_the_workers_own_reason_and_leaves_no_process(model: Path, tmp_path: Path) -> None:
    sidecar = SidecarProcess(replace(config_of(model), adapter=tmp_path / "no-adapter"), back_off=(0.0,))

    with pytest.raises(OospecError, match="no-adapter: No such file"):
        asyncio.run(opened(sidecar, no_use))
    assert sidecar.restarts == 0


# --- stand-ins for a worker


async def no_use(sidecar: SidecarProcess) -> None:
    raise AssertionError("it started")


def test_start_raises_what_a_worker_that_gives_up_says(run: Run) -> None:
    sidecar = stub_sidecar("refuses")
    with pytest.raises(OospecError, match="no such model"):
        run(opened(sidecar, no_use))


def test_start_raises_if_the_worker_ends_without_a_word(run: Run) -> None:
    sidecar = stub_sidecar("exits")
    with pytest.raises(OospecError, match="sidecar tiny: its process ended with code 3"):
        run(opened(sidecar, no_use))
    assert sidecar.restarts == 0


def test_start_raises_if_there_is_no_such_program(run: Run) -> None:
    config = SidecarConfig(Path("/nowhere"), "tiny", Device("cpu"), "float32")
    with pytest.raises(OospecError, match=r"its process cannot be started: .*No such file"):
        run(opened(SidecarProcess(config, command=("/nowhere/python",)), no_use))


def test_a_sidecar_that_was_never_started_can_be_closed_and_leaves_no_file_open(run: Run) -> None:
    before = len(os.listdir("/proc/self/fd"))
    sidecar = stub_sidecar("honest")
    run(sidecar.close())
    run(sidecar.close())
    del sidecar
    assert len(os.listdir("/proc/self/fd")) == before


def test_close_while_the_worker_starts_leaves_no_process(run: Run) -> None:
    def children() -> set[str]:
        return set(Path("/proc/self/task").joinpath(str(os.getpid()), "children").read_text().split())

    before = children()

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
        await until(lambda: all(gone(int(pid)) for pid in children() - before))

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


def test_a_chattering_worker_does_not_keep_the_loop_from_its_turns(run: Run) -> None:
    async def use(sidecar: SidecarProcess) -> None:
        wave = asyncio.create_task(sidecar.wave(Address(1), stubs.ask()))
        lines, turns = 0, 0
        loads = json.loads

        def counted(text: Any, **options: Any) -> Any:
            nonlocal lines
            lines += 1
            return loads(text, **options)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("oospec_async.runtime.sidecar_process.json.loads", counted)
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


# --- the parent's end

PARENT = """
import asyncio, sys
from pathlib import Path
from oospec_async.runtime.devices import Device
from oospec_async.runtime.sidecar_process import SidecarConfig, SidecarProcess

async def main():
    config = SidecarConfig(Path(sys.argv[1]), "tiny", Device("cpu"), "float32")
    sidecar = SidecarProcess(config, **({"command": sys.argv[2:]} if sys.argv[2:] else {}))
    try:
        await sidecar.start()
        print(sidecar.pid, flush=True)
        await asyncio.Event().wait()
    finally:
        await sidecar.close()

asyncio.run(main())
"""


def parent(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PARENT, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip


def test_a_worker_ends_by_itself_when_its_parent_is_killed(model: Path) -> None:
    with parent(str(model)) as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        process.kill()
        process.wait()
        asyncio.run(until(lambda: gone(pid)))


def test_ctrl_c_ends_the_parent_and_with_it_the_worker() -> None:
    with parent("/nowhere", sys.executable, str(STUB), "interrupted") as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does; the worker, in a session of its own, is spared
        _, errors = process.communicate(timeout=PATIENCE)
    assert gone(pid)
    assert errors.rstrip().endswith("KeyboardInterrupt")
    assert process.returncode == -signal.SIGINT
