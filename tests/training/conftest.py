"""Good files of every stage, for tests that spoil one."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from helpers.good import make_good


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Not to be written to."""
    at = tmp_path_factory.mktemp("good")
    make_good(at)
    return at


@pytest.fixture
def at(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the small files, as the working directory; the model by a link."""
    for path in made.glob("*.jsonl"):
        shutil.copy(path, tmp_path)
    for folder in ("tiny-llama", "adapter"):
        (tmp_path / folder).symlink_to(made / folder)
    monkeypatch.chdir(tmp_path)
    return tmp_path
