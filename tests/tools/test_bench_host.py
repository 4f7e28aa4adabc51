"""The host benchmark gives figures of the agreed shape. What they are decides nothing here."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "tools" / "bench_host.py"


def test_it_prints_figures_for_each_method_and_phase_as_json(tmp_path: Path) -> None:
    environment = {**os.environ, "OOSPEC_CACHE": str(tmp_path), "HF_HOME": str(tmp_path)}  # no model on this disk
    command = [sys.executable, str(SCRIPT), "--requests", "4", "--json"]
    figures = json.loads(subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout)
    assert figures["requests"] == 4
    assert "made here" in figures["tokenizer"]
    assert figures["mean_output_tokens"] > 10
    assert set(figures["methods"]) == {"toolspec", "oospec"}
    for found in figures["methods"].values():
        assert set(found["ms"]) == {"between", "commit", "draft", "hand-over", "switch alone"}
        assert found["rounds"] > 0
        assert found["tokens_per_round"] >= 1
        for times in [*found["ms"].values(), *figures["poll_us"].values()]:
            assert 0 <= times["median"] <= times["p99"] <= times["max"]
    assert set(figures["poll_us"]) == {"nothing new", "new message"}
