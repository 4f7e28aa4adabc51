"""A disk that is full while a run is written down: one line, nothing half-written, and the results are told."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from faults.conftest import REQUESTS
from faults.preloaded import Done, Preloaded

# A file may have so many bytes: enough for what is told, and for the channel, but for no trace.
LIMITED = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (12_000, 12_000))"
LONGER = ("--max-new-tokens", 40)  # and a trace that is larger


def check(done: Done, files: list[Path], reason: str) -> None:
    """One line names both files."""
    assert done.code == 2, done.err
    assert "Traceback" not in done.err
    (line,) = [line for line in done.err.splitlines() if line.startswith("oospec-run:")]
    for file in files:
        assert f"{file}: cannot be written: {reason}" in line
    assert done.left == []


def test_a_limit_on_files_leaves_what_was_there_and_tells_the_results(
    command: Preloaded, live: list[object], tmp_path: Path
) -> None:
    trace, timeline = files = [tmp_path / "trace.json", tmp_path / "timeline.html"]
    trace.write_text("an older trace")
    done = command.run(*live, *LONGER, "--record", trace, "--timeline", timeline, patches=LIMITED)
    check(done, files, "File too large")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("trace.json", "an older trace")]
    assert "mean accepted" in done.out


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 16 KiB; to mount one takes rights that a user need not have."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(folder)]
    try:
        mounted = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    except OSError:
        mounted = False
    if not mounted:
        pytest.skip("no right to mount a disk")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_disk_that_is_full_stays_clean_and_tells_the_results(
    command: Preloaded, live: list[object], small_disk: Path
) -> None:
    files = [small_disk / "trace.json", small_disk / "timeline.html"]
    done = command.run(*live, *LONGER, "--record", files[0], "--timeline", files[1])
    check(done, files, "No space left on device")
    assert list(small_disk.iterdir()) == []
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
