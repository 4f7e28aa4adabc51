"""Requests for a tiny model, and processes that serve them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from faults.preloaded import Preloaded, preloaded
from helpers import tiny
from helpers.refusals import row

REQUESTS = 4


@pytest.fixture(scope="session")
def requests(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("faults") / "requests.jsonl"
    rows = [tiny.request(f"Weather {n}?", id=f"r{n}", max_new_tokens=12) for n in range(REQUESTS)]
    path.write_text("".join(json.dumps(row.model_dump(mode="json")) + "\n" for row in rows))
    return path


@pytest.fixture(scope="session")
def command(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Preloaded]:
    with preloaded(tmp_path_factory.mktemp("commands")) as server:
        yield server


@pytest.fixture(scope="session")
def live(tiny_llama: Path, requests: Path) -> list[object]:
    """Arguments of a run of all requests, sidecar included."""
    models = ["--target", tiny_llama, "--sidecar", tiny_llama, "--devices", "cpu", "--dtype", "float32"]
    return ["--live", requests, *models, "--adapter", "none"]


@pytest.fixture
def good(tmp_path: Path) -> Path:
    path = tmp_path / "good.jsonl"
    path.write_bytes(row())
    return path
