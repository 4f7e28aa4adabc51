"""Devices by name, and threads bound to them."""

from __future__ import annotations

import asyncio
import os
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from oospec_async.devices import Device, default_devices, parse_device, parse_devices
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
