"""The lock of a file goes with the process that holds it, and leaves nothing behind."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from oospec_async.files.lock import lock

HOLD = """
import sys
from oospec_async.files.lock import lock
file = open(sys.argv[1], "a")
print(lock(file), flush=True)
sys.stdin.read()
"""


def test_a_killed_process_holds_nothing(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text("row\n")
    link = tmp_path / "link"
    link.symlink_to(path)
    command = [sys.executable, "-c", HOLD, str(link)]
    with path.open() as file:
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
            assert holder.stdout is not None
            assert holder.stdout.readline() == "True\n"
            assert not lock(file)
            holder.kill()
        assert lock(file)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["link", "rows.jsonl"]
    assert path.read_text() == "row\n"
