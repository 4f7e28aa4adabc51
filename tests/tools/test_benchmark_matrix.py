"""Several rows files side by side: cells, unweighted means, and files that cannot be compared."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from helpers import bench
from tools import bench as command

# By file: target, and by method (total, decode) seconds of its one request.
FILES: dict[str, tuple[str, dict[str, tuple[float, float]]]] = {
    "bfcl.rows.jsonl": ("small", {"ar": (12, 10), "toolspec": (6, 4), "oospec": (4, 2)}),
    "api-bank.rows.jsonl": ("small", {"ar": (9, 6), "toolspec": (6, 3), "oospec": (6, 3)}),
    "bfcl-large.jsonl": ("large", {"ar": (30, 24), "toolspec": (15, 8), "oospec": (10, 3), "pld": (30, 24)}),
}


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    made = []
    for name, (target, methods) in FILES.items():
        weights = {"name": target, "source": "directory", "sha256": "cd" * 32}
        head = bench.header(list(methods), {"q_1": "q"}, target=weights)
        rows = [bench.row(0, "q_1", method, total=total, decode=decode) for method, (total, decode) in methods.items()]
        made.append(bench.write(tmp_path / name, head, *rows))
    return made


def test_cells_and_unweighted_means(files: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["matrix", *map(str, files), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["methods"] == ["toolspec", "oospec"]  # those of all files
    assert [(cell["target"], cell["requests"], cell["count"]) for cell in found["cells"]] == [
        ("small", "bfcl", 1),
        ("small", "api-bank", 1),
        ("large", "bfcl-large", 1),
    ]
    assert [cell["decode"] for cell in found["cells"]] == [
        {"toolspec": 2.5, "oospec": 5.0},
        {"toolspec": 2.0, "oospec": 2.0},
        {"toolspec": 3.0, "oospec": 8.0},
    ]
    small, large, everything = found["means"]
    assert (small["target"], large["target"], everything["target"]) == ("small", "large", "")
    assert small["decode"] == {"toolspec": 2.25, "oospec": 3.5}
    assert large["total"] == {"toolspec": 2.0, "oospec": 3.0}
    assert everything["decode"] == {"toolspec": 2.5, "oospec": 5.0}
    assert everything["count"] == 3


def test_the_table_for_people(files: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["matrix", *map(str, files)]) == 0
    shown = capsys.readouterr().out
    assert "8.00x (3.00x)" in shown
    assert "unweighted mean" in shown


def test_files_that_cannot_be_compared_are_one_line(
    files: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bare = bench.write(tmp_path / "bare.jsonl", bench.header(["generate", "oospec"], {"q_1": "q"}))
    alone = bench.write(
        tmp_path / "alone.jsonl", bench.header(["ar"], {"q_1": "q"}), bench.row(0, "q_1", "ar", total=1)
    )
    for paths, said in (
        ([files[0], bare], "no request has been served by every method yet"),
        ([files[0], alone], "no method beside ar is in all of these files"),
        ([files[0], tmp_path / "none"], "none"),
    ):
        assert command.main(["matrix", *map(str, paths)]) == 2
        error = capsys.readouterr().err
        assert said in error
        assert error.count("\n") == 1
