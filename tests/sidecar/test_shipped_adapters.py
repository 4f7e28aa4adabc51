"""Adapters that come along: found by the base that they are for."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from oospec_async.errors import OospecError
from oospec_async.sidecar import shipped_adapters
from oospec_async.sidecar.shipped_adapters import find_adapter
from oospec_async.weights.adapters import NO_ADAPTER, SHIPPED, check_adapter, describe_adapter
from oospec_async.weights.fetch import ModelFiles

HERE = Path(shipped_adapters.__file__).parent / "adapters"


def adapter(folder: Path, base: str, weights: str = "") -> Path:
    folder.mkdir()
    (folder / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": base}))
    (folder / "weights.json").write_text(json.dumps({"sha256": {"as handed out": weights}}))
    (folder / "adapter_model.safetensors").write_bytes(b"weights")
    return folder


def sidecar(name: str, source: str = "hub", weights: str = "unknown") -> ModelFiles:
    return ModelFiles(name, Path("/models/here"), source, weights)


def found(named: str, model: ModelFiles) -> tuple[Path | None, list[str]]:
    told: list[str] = []
    return find_adapter(named, model, told.append), told


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("oospec_async.sidecar.shipped_adapters._FOLDER", tmp_path)
    adapter(tmp_path / "other", "someone/Other-1B", "b" * 64)
    return adapter(tmp_path / "small", "someone/Small-1B", "a" * 64)


@pytest.mark.parametrize("name", ["someone/Small-1B", "Small-1B", "someone/small-1b"])
def test_an_adapter_is_found_by_what_its_base_may_be_called(name: str, shipped: Path) -> None:
    assert found(SHIPPED, sidecar(name)) == (shipped, [])


@pytest.mark.parametrize("name", ["/models/x", "./link", "Small-1B", "other"])
def test_a_sidecar_in_a_directory_is_known_by_its_weights(name: str, shipped: Path) -> None:
    assert found(SHIPPED, sidecar(name, "directory", "a" * 64)) == (shipped, [])


@pytest.mark.parametrize(
    ("name", "source"),
    [("someone-else/Small-1B", "hub"), ("Small", "hub"), ("/models/Small-1B", "directory"), ("Small-1B", "directory")],
)
@pytest.mark.usefixtures("shipped")
def test_for_another_sidecar_none_comes_along_and_a_line_says_so(name: str, source: str) -> None:
    none, (line,) = found(SHIPPED, sidecar(name, source))
    assert none is None
    assert line.startswith(f"sidecar {name}: goes without an adapter")


def test_a_directory_or_none_can_be_named(shipped: Path, tmp_path: Path) -> None:
    assert found(str(shipped), sidecar("Small-1B")) == (shipped, [])
    assert found(NO_ADAPTER, sidecar("someone/Small-1B")) == (None, [])
    with pytest.raises(OospecError, match="none-such: No such file"):
        found(str(tmp_path / "none-such"), sidecar("any"))


@pytest.mark.parametrize(
    "base",
    ["/mnt/train/run-7/base", "unsloth/small-1b-bnb-4bit", "/cache/models--someone--Small-1B/snapshots/12fd25f"],
)
def test_an_adapter_for_a_base_of_another_name_is_taken_and_a_line_says_so(base: str, tmp_path: Path) -> None:
    folder = adapter(tmp_path / "mine", base)
    taken, (line,) = found(str(folder), sidecar("someone/Small-1B"))
    assert taken == folder
    assert line.startswith(f"adapter {folder}: made for {base}, and the model is named someone/Small-1B")


@pytest.mark.parametrize("file", ["adapter_config.json", "weights.json"])
def test_a_damaged_configuration_is_named(shipped: Path, file: str) -> None:
    (shipped / file).write_text("{")
    with pytest.raises(OospecError, match=r"small: damaged; install oospec again"):
        found(SHIPPED, sidecar("someone/Small-1B"))


def test_an_adapter_is_described_by_name_and_content(shipped: Path) -> None:
    assert describe_adapter(shipped) == f"small (SHA-256 {hashlib.sha256(b'weights').hexdigest()[:12]})"


@pytest.mark.parametrize("folder", [path.parent for path in HERE.glob("*/adapter_config.json")], ids=lambda f: f.name)
def test_what_comes_along_is_whole_and_says_how_it_was_made(folder: Path) -> None:
    check_adapter(folder)
    base = json.loads((folder / "adapter_config.json").read_text(encoding="utf-8"))["base_model_name_or_path"]
    for known in json.loads((folder / "weights.json").read_text(encoding="utf-8"))["sha256"].values():
        assert found(SHIPPED, sidecar("/anywhere", "directory", known)) == (folder, [])
    assert found(SHIPPED, sidecar(base)) == (folder, [])
    assert (folder / "README.md").exists()
    assert not (folder / "checkpoint.pt").exists()
    if (folder / "manifest.json").exists():
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        digest = hashlib.sha256((folder / "adapter_model.safetensors").read_bytes()).hexdigest()
        assert manifest["output"]["sha256"] == digest
