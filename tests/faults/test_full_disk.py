"""A disk that is full while a run is written down: one line, nothing half-written, and the results are told."""

from __future__ import annotations

import json
from pathlib import Path

from faults.conftest import REQUESTS
from faults.preloaded import Preloaded

# A file may have so many bytes: enough for what is told, and for the channel, but for no trace.
LIMITED = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (12_000, 12_000))"
LONGER = ("--max-new-tokens", 40)  # and a trace that is larger


def test_a_disk_that_is_full_leaves_what_was_there_and_tells_the_results_and_names_both_files_in_one_line(
    command: Preloaded, live: list[object], tmp_path: Path
) -> None:
    trace, timeline = files = [tmp_path / "trace.json", tmp_path / "timeline.html"]
    trace.write_text("an older trace")
    done = command.run(*live, *LONGER, "--record", trace, "--timeline", timeline, patches=LIMITED)
    assert (done.code, done.left) == (2, []), done.err
    assert "Traceback" not in done.err
    (line,) = [line for line in done.err.splitlines() if line.startswith("oospec-run:")]
    assert all(f"{file}: cannot be written: File too large" in line for file in files)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("trace.json", "an older trace")]
    assert "mean accepted" in done.out


def test_results_that_cannot_be_told_are_written_down_all_the_same(
    command: Preloaded, live: list[object], tmp_path: Path
) -> None:
    full = "import os; os.dup2(os.open('/dev/full', os.O_WRONLY), 1)"
    trace = tmp_path / "trace.json"
    done = command.run(*live, "--record", trace, "--json", patches=full)
    assert done.code == 2
    assert "stdout: cannot write: No space left on device" in done.err
    assert "Traceback" not in done.err
    assert len(json.loads(trace.read_text())["requests"]) == REQUESTS
    assert [path.name for path in tmp_path.iterdir()] == ["trace.json"]
