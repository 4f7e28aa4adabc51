"""The sidecar's process with a real worker on a tiny model: its waves, and the models that it cannot have."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import uvloop

from helpers import tiny
from helpers.processes import PATIENCE
from helpers.scripted import scripted
from oospec_async.devices import Device
from oospec_async.errors import OospecError
from oospec_async.events import WaveReport
from oospec_async.hints import encode_hint
from oospec_async.sidecar import channel, worker
from oospec_async.sidecar.channel import Address, HintWriter
from oospec_async.sidecar.messages import Job, Report, SidecarConfig, read_said
from oospec_async.sidecar.process import SidecarProcess


@dataclass
class Live:
    runner: asyncio.Runner
    sidecar: SidecarProcess

    def run(self, use: Callable[[SidecarProcess], Awaitable[Any]]) -> Any:
        async def within() -> Any:
            async with asyncio.timeout(PATIENCE):
                return await use(self.sidecar)

        return self.runner.run(within())


def config_of(model: Path) -> SidecarConfig:
    return SidecarConfig(model, "tiny", Device("cpu"), "float32")


@pytest.fixture(scope="module", params=[asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def live(request: pytest.FixtureRequest, tiny_llama: Path) -> Iterator[Live]:
    with asyncio.Runner(loop_factory=request.param) as runner:
        sidecar = SidecarProcess(config_of(tiny_llama), back_off=(0.0,))
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
        many = tuple(tiny.WEATHER.model_copy(update={"name": f"tool_{n}"}) for n in range(100))
        long = tiny.request("word " * 4000, tools=many)
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


def test_hints_beyond_what_the_channel_or_a_report_takes_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    script = {"call 1 =": " get_weather\n", "get_weather: days =": " 3\n", "get_weather: city =": ' "Paris"'}
    sidecar, _ = scripted(script)

    def report() -> Report:
        writer = HintWriter(memoryview(bytearray(channel.CHANNEL_SIZE)))
        return worker._run(Job(serial=1, reuse=False, request=tiny.request()), sidecar, writer, set())

    whole = report()
    sizes = [len(hint.payload) for hint in whole.hints]
    assert len(sizes) > 1
    assert read_said(whole.line().encode()) == whole
    monkeypatch.setattr(worker, "_MOST_PAYLOADS", sum(sizes) - 1)
    assert report().hints == whole.hints[:-1]
    monkeypatch.setattr(channel, "MAX_PAYLOAD", sizes[-1] - 1)
    assert report().error == "a hint was too large for the channel"


# --- models that cannot be had; tests/faults has more of them


def test_a_worker_refuses_what_loading_refuses(tiny_llama: Path, tmp_path: Path) -> None:
    config = json.loads((tiny_llama / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**config, "model_type": "gpt2"}))
    with pytest.raises(OospecError, match="tiny: refused: family 'gpt2'"):
        worker._load(config_of(tmp_path))
