"""Packages to models: what is joined, checked and converted, and what goes wrong in that."""

from __future__ import annotations

import hashlib
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import IO, Any

import pytest

from helpers.packages import DATA, Registry, fake_convert, leftovers, make_model
from oospec_async.errors import OospecError
from oospec_async.files.lock import lock
from oospec_async.weights import packaged
from oospec_async.weights.packaged import Convert, Package


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


def with_second(members: dict[str, bytes]) -> Registry:
    """An index whose second wheel holds something else than was pinned."""
    return Registry({"tiny-part1==1.0": {"tiny/part1.bin": DATA[0]}, "tiny-part2==1.0": members})


def torn(requirement: str, into: Path) -> Path:
    (into / "some.whl").write_bytes(b"no archive")
    return into / "some.whl"


def ending_with(error: BaseException) -> Convert:
    """A conversion that fails when it has written everything."""

    def convert(gguf: Path, out: Path) -> None:
        fake_convert(gguf, out)
        raise error

    return convert


GOT = hashlib.sha256(DATA[0] + b"evil").hexdigest()
FULL = OSError(28, "No space left on device")
FAILURES: dict[str, tuple[dict[str, Any], type[BaseException], str]] = {
    "other content": ({"download": with_second({"tiny/part2.bin": b"evil"})}, OospecError, f"expected .*, got {GOT}"),
    "a member too few": (
        {"download": with_second({})},
        OospecError,
        "tiny-part2==1.0: the wheel has no tiny/part2.bin",
    ),
    "a damaged wheel": ({"download": torn}, OospecError, "the wheel is damaged"),
    "a full disk": ({"convert": ending_with(FULL)}, OospecError, "cannot write .*No space left.*OOSPEC_CACHE"),
    "an interrupt": ({"convert": ending_with(KeyboardInterrupt("^C"))}, KeyboardInterrupt, "C"),
}


@pytest.mark.parametrize("failure", FAILURES)
def test_a_build_that_fails_leaves_nothing(failure: str, package: Package, registry: Registry, tmp_path: Path) -> None:
    options, raised, said = FAILURES[failure]
    with pytest.raises(raised, match=said):
        packaged.obtain(package, tmp_path, **{"download": registry, "convert": fake_convert, **options})
    assert leftovers(tmp_path) == []
    assert packaged.converted(package, tmp_path) is None


def test_a_killed_build_is_not_taken_for_a_model(package: Package, registry: Registry, tmp_path: Path) -> None:
    dead, foreign = (tmp_path / f".{name}.x1y2.building" for name in (package.folder, "Org--Other"))
    for folder in (dead, foreign):
        make_model(folder / "model")
    assert packaged.converted(package, tmp_path) is None
    packaged.obtain(package, tmp_path, download=registry, convert=fake_convert)
    # Another process may still be at work on the other model: that folder goes when that model is fetched.
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


def test_two_at_once_build_once(
    package: Package, registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    converting, waiting = threading.Event(), threading.Event()

    def convert(gguf: Path, out: Path) -> None:
        converting.set()
        assert waiting.wait(60)
        fake_convert(gguf, out)

    def noted(file: IO[str], *, wait: bool = False) -> bool:
        if wait:
            waiting.set()
        return lock(file, wait=wait)

    monkeypatch.setattr(packaged, "lock", noted)
    build = partial(packaged.obtain, package, tmp_path, download=registry, convert=convert)
    with ThreadPoolExecutor() as threads:
        first = threads.submit(build)
        assert converting.wait(60)
        assert build() == first.result() == tmp_path / package.folder
    assert len(registry.asked) == 2


def test_a_cache_that_cannot_be_written(package: Package, registry: Registry, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OospecError, match=r"cannot write .*OOSPEC_CACHE"):
        packaged.obtain(package, tmp_path / "file" / "models", download=registry, convert=fake_convert)
