"""The sidecar's process with a real worker on a tiny model: its waves, the models that it cannot have, and its end."""

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

from faults.processes import PATIENCE, gone, until
from helpers import tiny
from helpers.sidecars import STUB, no_use, opened
from oospec_async.errors import OospecError
from oospec_async.hints import encode_hint
from oospec_async.runtime.channel import Address
from oospec_async.runtime.devices import Device
from oospec_async.runtime.ports import WaveReport
from oospec_async.sidecar import worker as sidecar_worker
from oospec_async.sidecar.process import SidecarConfig, SidecarProcess

# --- one worker per event loop


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


# --- the parent's end


PARENT = """
import asyncio, sys
from pathlib import Path
from oospec_async.runtime.devices import Device
from oospec_async.sidecar.process import SidecarConfig, SidecarProcess

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
