"""The soak: a short one holds its limits, and each limit is seen where it is broken."""

from __future__ import annotations

import asyncio
import gc
import mmap
import os
import random
import subprocess
import sys
import threading
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from oospec_async.hints import decode_hint
from oospec_async.sidecar.channel import MAX_PAYLOAD
from oospec_async.testing import TOOLS
from tools import soak
from tools.soaking import hostile

BLOCK = 32 << 20  # bytes


@pytest.fixture(scope="module")
def good() -> Any:
    """A result of which nothing is broken."""
    held = soak.Footprint(rss=1_000_000, own_rss=600_000, files=20, threads=5, processes=1)
    alone = soak.Footprint(rss=600_000, own_rss=600_000, files=10, threads=4, processes=0)
    done = Counter({"finished": 9, "sidecars killed": 1, "sidecars restarted": 1})
    happened = soak.Soak(served=10, done=done, footprints=[(5, held), (10, held)])
    return soak.Result(happened, hints=20, opened=alone, closed=alone, left=0, seconds=1.0)


def test_a_short_soak_kills_its_sidecar_and_leaves_nothing() -> None:
    result = asyncio.run(soak.soak(24, 100, 1, soak.Progress(disable=True)))
    others = [line for line in soak.broken(result) if not line.startswith("memory")]  # too short for a law of memory
    assert others == []
    assert result.soak.served == 24
    assert result.hints >= 100
    assert result.soak.done["finished"] > 0
    assert [number for number, _ in result.soak.footprints] == [12, 24]
    assert result.closed.processes == result.opened.processes


def test_a_good_result_is_told_on_one_screen(good: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert soak.broken(good) == []
    soak.print_result(soak.Console(width=100), good, [])
    out = capsys.readouterr().out
    assert "all limits hold" in out
    assert len(out.splitlines()) < 24


@pytest.mark.parametrize(
    ("field", "by", "said"),
    [
        ("rss", 20_001, "memory has grown by 2.0%; the limit is 2%"),
        ("files", 1, "files: 1 more"),
        ("threads", 2, "threads: 2 more"),
        ("processes", 1, "processes: 1 more"),
    ],
)
def test_what_has_grown_is_named(field: str, by: int, said: str, good: Any) -> None:
    (_, first), (number, last) = good.soak.footprints
    grown = replace(last, **{field: getattr(last, field) + by})
    result = replace(good, soak=replace(good.soak, footprints=[(5, first), (number, grown)]))
    (line,) = soak.broken(result)
    assert line.startswith(said)


def test_what_is_wrong_or_left_is_named(good: Any) -> None:
    wrong = replace(good, soak=replace(good.soak, wrong=["Paris by oospec", "Paris by oospec"]))
    assert soak.broken(wrong) == ["output differs from generate's: Paris by oospec"]
    assert soak.broken(replace(good, left=2)) == ["2 processes are left after the end"]
    open_files = replace(good, closed=replace(good.closed, files=12))
    assert soak.broken(open_files) == ["2 files are still open after the end"]
    lost = replace(good, soak=replace(good.soak, done=Counter({"sidecars killed": 3, "sidecars restarted": 1})))
    assert soak.broken(lost) == ["3 sidecars were killed and 1 restarted"]


def test_a_broken_limit_is_exit_code_1_and_printed(
    good: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def left(*_: Any) -> Any:
        return replace(good, left=1)

    monkeypatch.setattr(soak, "soak", left)
    assert soak.main([]) == 1
    assert "broken: 1 processes are left after the end" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["--requests", "1"], ["--requests", "many"], ["--hints", "-1"], ["--fast"]])
def test_bad_input_is_one_line_and_exit_code_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert soak.main(arguments) == 2
    captured = capsys.readouterr()
    (line,) = captured.err.splitlines()
    assert arguments[0] in line
    assert captured.out == ""


def test_a_footprint_sees_files_threads_and_children() -> None:
    gc.collect()  # what other tests have left is not given back in between
    before, release = soak.footprint(), threading.Event()
    thread = threading.Thread(target=release.wait)
    thread.start()
    with (
        # Pages of its own: malloc may hand out memory that other tests have left resident.
        mmap.mmap(-1, BLOCK) as block,
        open(os.devnull) as _,
        subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, start_new_session=True) as child,
    ):
        block.write(bytes(BLOCK))
        after = soak.footprint()
        assert child.pid in soak.descendants(os.getpid())
        child.communicate(b"\n")
    release.set()
    thread.join()
    assert after.own_rss - before.own_rss > BLOCK * 0.9
    assert after.rss > after.own_rss
    assert after.files > before.files + 1
    assert after.threads >= before.threads + 2
    assert after.processes == before.processes + 1


def test_hostile_hints_are_many_different_ones_and_fit_the_channel() -> None:
    chance, tools = random.Random(0), TOOLS
    payloads = [hostile.payload(chance) for _ in range(1000)]
    assert len(set(payloads)) > 600
    assert max(map(len, payloads)) == MAX_PAYLOAD
    understood = [hint for each in payloads if (hint := decode_hint(each, 1, tools)) is not None]
    assert 100 < len(understood) < 900, "some must pass for hints, and some must not"
