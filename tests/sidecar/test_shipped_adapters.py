"""Adapters that come along: found by the base that they are for."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from oospec_async.errors import OospecError
from oospec_async.sidecar import shipped_adapters
from oospec_async.sidecar.shipped_adapters import NO_ADAPTER, SHIPPED, find_adapter
from oospec_async.weights.adapters import check_adapter, describe_adapter

HERE = Path(shipped_adapters.__file__).parent / "adapters"


def adapter(folder: Path, base: str) -> Path:
    folder.mkdir()
    (folder / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": base}))
    (folder / "adapter_model.safetensors").write_bytes(b"weights")
    return folder


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("oospec_async.sidecar.shipped_adapters._FOLDER", tmp_path)
    adapter(tmp_path / "other", "someone/Other-1B")
    return adapter(tmp_path / "small", "someone/Small-1B")


@pytest.mark.parametrize("sidecar", ["someone/Small-1B", "Small-1B", "someone/small-1b"])
def test_an_adapter_is_found_by_what_its_base_may_be_called(sidecar: str, shipped: Path) -> None:
    assert find_adapter(SHIPPED, sidecar) == shipped


@pytest.mark.parametrize("sidecar", ["someone-else/Small-1B", "Small", "/models/Small-1B", ""])
def test_for_another_sidecar_none_comes_along(sidecar: str, shipped: Path) -> None:
    assert find_adapter(SHIPPED, sidecar) is None


def test_a_directory_or_none_can_be_named(shipped: Path, tmp_path: Path) -> None:
    assert find_adapter(str(shipped), "any") == shipped
    assert find_adapter(NO_ADAPTER, "someone/Small-1B") is None
    with pytest.raises(OospecError, match="none-such: No such file"):
        find_adapter(str(tmp_path / "none-such"), "any")


def test_a_damaged_configuration_is_named(shipped: Path) -> None:
    (shipped / "adapter_config.json").write_text("{")
    with pytest.raises(OospecError, match=r"adapter_config.json: damaged; install oospec again"):
        find_adapter(SHIPPED, "someone/Small-1B")


def test_an_adapter_is_described_by_name_and_content(shipped: Path) -> None:
    assert describe_adapter(shipped) == f"small (SHA-256 {hashlib.sha256(b'weights').hexdigest()[:12]})"


@pytest.mark.parametrize("folder", [path.parent for path in HERE.glob("*/adapter_config.json")], ids=lambda f: f.name)
def test_what_comes_along_is_whole_and_says_how_it_was_made(folder: Path) -> None:
    check_adapter(folder)
    base = json.loads((folder / "adapter_config.json").read_text(encoding="utf-8"))["base_model_name_or_path"]
    assert find_adapter(SHIPPED, base) == folder
    assert (folder / "README.md").exists()
    assert not (folder / "checkpoint.pt").exists()
    if (folder / "manifest.json").exists():
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        digest = hashlib.sha256((folder / "adapter_model.safetensors").read_bytes()).hexdigest()
        assert manifest["output"]["sha256"] == digest
