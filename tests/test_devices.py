"""Devices by name, and threads bound to them."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch

from oospec_async import cores, devices
from oospec_async.cores import HeldCores
from oospec_async.devices import Device, default_devices, held_devices, parse_device, parse_devices
from oospec_async.errors import OospecError
from oospec_async.runtime.executor import ThreadExecutor

CORES = sorted(os.sched_getaffinity(0))
CORE = CORES[-1]


@pytest.mark.parametrize(
    ("name", "device", "torch_name"),
    [
        ("cpu", Device("cpu"), "cpu"),
        (f"cpu:{CORE}", Device(f"cpu:{CORE}", CORE), "cpu"),
        ("cuda", Device("cuda:0"), "cuda:0"),
        ("cuda:3", Device("cuda:3"), "cuda:3"),
    ],
)
def test_a_name_gives_a_device(name: str, device: Device, torch_name: str) -> None:
    assert parse_device(name) == device
    assert parse_device(name).torch_name == torch_name


@pytest.mark.parametrize("name", ["", "gpu", "cpu:", "cpu:x", "cpu:-1", "cuda:", "CPU", "cuda:0 ", "cuda:0:1", "mps"])
def test_a_name_that_is_no_device_is_refused_by_name(name: str) -> None:
    with pytest.raises(OospecError, match="unknown; use cuda:N, cpu, or cpu:N") as error:
        parse_device(name)
    assert repr(name) in str(error.value)


def test_a_core_that_is_not_there_is_refused_with_those_that_are() -> None:
    with pytest.raises(OospecError, match=f"no such core; this process may use .*cpu:{CORE}"):
        parse_device(f"cpu:{CORE + 1000}")


def test_a_pair_names_the_target_first_and_one_name_serves_both() -> None:
    assert parse_devices(f"cuda:1, cpu:{CORE}") == (Device("cuda:1"), Device(f"cpu:{CORE}", CORE))
    assert parse_devices("cuda:0") == (Device("cuda:0"), Device("cuda:0"))


@pytest.mark.parametrize("names", ["cpu,cpu,cpu", "", ",", "cpu,"])
def test_a_list_that_is_no_pair_is_refused(names: str) -> None:
    with pytest.raises(OospecError):
        parse_devices(names)


def test_by_default_the_models_share_no_core() -> None:
    if torch.cuda.is_available():
        pytest.skip("the default here is a GPU")
    target, sidecar = parse_devices(default_devices())
    assert target.core is None or target.core != sidecar.core


@pytest.mark.parametrize(("count", "expected"), [(1, "cuda:0,cuda:0"), (2, "cuda:0,cuda:1"), (8, "cuda:0,cuda:1")])
def test_by_default_gpus_are_taken_where_there_are_any(
    count: int, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: count)
    assert default_devices() == expected


def test_the_thread_of_a_pinned_core_runs_on_that_core_and_no_other_thread_does() -> None:
    executor = ThreadExecutor(parse_device(f"cpu:{CORE}"))
    try:
        assert asyncio.run(executor.run(os.sched_getaffinity, 0)) == {CORE}
        assert asyncio.run(executor.run(torch.get_num_threads)) == 1
        assert sorted(os.sched_getaffinity(0)) == CORES
    finally:
        executor.close()


def test_the_thread_of_all_cores_is_not_pinned() -> None:
    executor = ThreadExecutor(parse_device("cpu"))
    try:
        assert sorted(asyncio.run(executor.run(os.sched_getaffinity, 0))) == CORES
    finally:
        executor.close()


def test_an_application_has_its_own_settings_again_when_the_last_engine_closes() -> None:
    def of_a_new_thread() -> tuple[int, list[int]]:
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(lambda: (torch.get_num_threads(), sorted(os.sched_getaffinity(0)))).result()

    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        first, second = (ThreadExecutor(parse_device(f"cpu:{CORE}")) for _ in range(2))
        assert [asyncio.run(each.run(torch.get_num_threads)) for each in (first, second)] == [1, 1]
        first.close()
        assert asyncio.run(second.run(torch.get_num_threads)) == 1
        assert of_a_new_thread() == (1, CORES)  # also for the libraries that ask torch's default
        second.close()
        assert of_a_new_thread() == (3, CORES)
        assert (torch.get_num_threads(), sorted(os.sched_getaffinity(0))) == (3, CORES)
    finally:
        torch.set_num_threads(before)


# --- cores of several engines, on a machine of four cores with two hardware threads each: n and n + 4


@pytest.fixture
def eight_threads(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for cpu in range(8):
        (tmp_path / str(cpu)).write_text(f"{cpu % 4},{cpu % 4 + 4}\n")
    monkeypatch.setattr(cores, "_TOPOLOGY", str(tmp_path / "{}"))
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(8)))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    # Names of this test alone: other engines may be at work on this machine.
    monkeypatch.setattr(cores, "core_of", lambda cpu, of=cores.core_of: of(cpu) + 10_000 + os.getpid() * 10)
    monkeypatch.setattr(devices, "core_of", cores.core_of)


def names_of(pair: tuple[Device, Device]) -> list[str]:
    return [device.name for device in pair]


@pytest.mark.usefixtures("eight_threads")
def test_each_engine_takes_free_cores_of_its_own() -> None:
    told: list[str] = []
    with held_devices(None, told.append, sidecar=True) as first:
        assert names_of(first) == ["cpu:0", "cpu:1"]
        with held_devices(None, told.append, sidecar=False) as second:
            assert names_of(second)[0] == "cpu:2"
            assert default_devices() == "cpu:3,cpu:0"
        with held_devices(None, told.append, sidecar=True) as third:
            assert names_of(third) == ["cpu:2", "cpu:3"]
            assert told == []
    with held_devices(None, told.append, sidecar=True) as again:
        assert again == first


@pytest.mark.usefixtures("eight_threads")
def test_a_core_that_another_engine_has_is_said() -> None:
    told: list[str] = []
    with (
        held_devices("cpu:0,cpu:1", told.append, sidecar=True),
        held_devices("cpu:4,cpu:2", told.append, sidecar=True) as second,
        held_devices(None, told.append, sidecar=True) as third,
    ):
        assert names_of(second) == ["cpu:4", "cpu:2"]  # named is named
        assert names_of(third) == ["cpu:3", "cpu:0"]
    assert [line[:13] for line in told] == ["device cpu:4:", "device cpu:0:"]
    assert all("another engine has this core" in line for line in told)


@pytest.mark.usefixtures("eight_threads")
def test_hardware_threads_of_one_core_are_not_two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    with held_devices("cpu:0,cpu:4", told.append, sidecar=True):
        assert told == ["devices cpu:0,cpu:4: hardware threads of one core; each slows the other"]
    with held_devices("cpu:0", told.append, sidecar=True):
        assert len(told) == 1
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {1, 5})
    assert default_devices() == "cpu,cpu"


def test_a_core_is_free_again_when_its_process_is_killed() -> None:
    core = 20_000 + os.getpid() * 10
    code = f"from oospec_async.cores import HeldCores\nprint(HeldCores().take({core}), flush=True)\ninput()"
    with subprocess.Popen(
        [sys.executable, "-c", f"held = None\n{code.replace('HeldCores().take', '(held := HeldCores()).take')}"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as other, contextlib.closing(HeldCores()) as mine:  # fmt: skip
        assert other.stdout is not None
        assert other.stdout.readline() == "True\n"
        assert not mine.take(core)
        other.kill()
        other.wait()
        assert mine.take(core)
