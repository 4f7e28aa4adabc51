"""Settings of all tests: one thread, the same examples in every run, no network; and both event loops."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

os.environ.update(OMP_NUM_THREADS="1", MKL_NUM_THREADS="1", TOKENIZERS_PARALLELISM="false")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import pytest
import uvloop
from hypothesis import HealthCheck, settings

from helpers.stubs import Run

# Where the tests run in the background of a shell, Ctrl-C is ignored, and processes that they start would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile(
    "same", derandomize=True, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("same")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Real weights come first: where the suite is shared out to processes, they must not be what is left at its end."""
    items.sort(key=lambda item: item.get_closest_marker("real") is None)


@pytest.fixture(params=[asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def run(request: pytest.FixtureRequest) -> Run:
    """Runs a coroutine to its end on a fresh event loop; for tests to which the loop matters."""

    def run_on_loop(coroutine: Coroutine[Any, Any, Any]) -> Any:
        with asyncio.Runner(loop_factory=request.param) as runner:
            return runner.run(coroutine)

    return run_on_loop


@pytest.fixture(scope="session")
def tiny_llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tiny model and its tokenizer. Not to be written to."""
    from helpers.command import model_folder

    return model_folder(tmp_path_factory.mktemp("models") / "tiny-llama")
