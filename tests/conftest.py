"""Settings of all tests: one thread, the same examples in every run, and no network."""

from __future__ import annotations

import os
import signal

os.environ.update(OMP_NUM_THREADS="1", MKL_NUM_THREADS="1", TOKENIZERS_PARALLELISM="false")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import pytest
from hypothesis import HealthCheck, settings

from helpers import shares

# Where the tests run in the background of a shell, Ctrl-C is ignored, and processes that they start would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile(
    "same", derandomize=True, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("same")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if shares.DRAFTED:
        terminalreporter.write_line(f"rejected draft tokens: {shares.summary()}")
