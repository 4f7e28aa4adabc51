"""A small study in a folder."""

from __future__ import annotations

from pathlib import Path

from helpers.sim_traces import random_requests, trace
from oospec_async.trace import write_trace

STUDY = """
name = "Speeds | links"
about = "A small grid."
trace = "t.json"
[grid]
scale_sidecar = [0.1, 1, 10]
method = ["toolspec", "oospec"]
[[assert]]
that = "speedup_vs_toolspec.mean >= 1"
[[assert]]
that = "wave_hidden.p50 >= 0.5"
where = { method = "oospec", scale_sidecar = 10 }
"""


def make_study(folder: Path) -> Path:
    """``s.toml`` and its trace."""
    write_trace(trace(random_requests(6, 2), noise=0.1), folder / "t.json")
    (folder / "s.toml").write_text(STUDY)
    return folder
