"""What a module brings with it: commands answer at once, and the base install is enough for what needs no models."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("torch", "transformers", "peft", "huggingface_hub", "plotly", "pandas", "pytest")


@pytest.mark.parametrize(
    "module",
    [
        "oospec_async",
        "oospec_async.commands.cli",
        "oospec_async.testing",
        "oospec_async.timeline",
        "oospec_async.trace",
        "oospec_async.weights.fetch",
    ],
)
def test_importing_it_imports_nothing_heavy(module: str) -> None:
    code = f"import sys, {module}; print(set({HEAVY}) & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
