"""What oospec-sim prints, and what it does with bad input: one line on stderr that names it, exit code 2."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from helpers.sim_command import COMMAND, found, refused, run, spawned, told
from helpers.sim_traces import random_requests, request, trace
from oospec_async.trace import write_trace

Content = dict[str, Any]


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("traces") / "t.json"
    write_trace(trace(random_requests(12, 3), noise=0.1), path)
    return path


def changed(good: Path, folder: Path, change: Callable[[Content], object]) -> Path:
    content = json.loads(good.read_text())
    change(content)
    path = folder / "changed.json"
    path.write_text(json.dumps(content))
    return path


def test_a_trace_alone_gives_a_table_that_says_what_is_behind_it(good: Path) -> None:
    done = run("--trace", good)
    for said in ("12 requests, simulated from modelled parts", "oospec@zero", "decode, modelled", "made up for tests"):
        assert said in done.out
    assert done.err == ""


def test_json_alone_is_on_stdout_and_has_every_request(good: Path, tmp_path: Path) -> None:
    done = run("--trace", good, "--json", "--timeline", tmp_path / "t.json", "--report", tmp_path / "r.html")
    results = json.loads(done.out)
    assert results["simulated_from"] == "modelled"
    assert [r["scenario"]["method"] for r in results["results"]] == [
        "ar",
        "toolspec",
        "oospec",
        "oospec@zero",
        "perfect",
    ]
    assert all(len(result["requests"]) == 12 for result in results["results"])
    assert json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    assert "</html>" in (tmp_path / "r.html").read_text()
    assert "report:" in done.err


def test_a_gzipped_trace_is_read(good: Path, tmp_path: Path) -> None:
    path = tmp_path / "t.json.gz"
    path.write_bytes(gzip.compress(good.read_bytes()))
    assert found("--trace", path)["results"] == found("--trace", good)["results"]


def test_check_says_fine_or_everything_that_is_wrong(good: Path, tmp_path: Path) -> None:
    assert told("--check", good) == f"{good}: fine\n"

    def damage(content: Content) -> None:
        content["requests"][0]["profiles"][0]["drafted"].pop()
        content["requests"][1]["publishes"][0]["seconds"] = 999.0

    done = run("--check", changed(good, tmp_path, damage))
    assert done.code == 2
    assert len(done.err.splitlines()) >= 2
    assert "profiles.0.drafted" in done.err


@pytest.mark.parametrize("option", ["--json", "--report", "--timeline"])
def test_torch_and_transformers_are_never_imported_and_plotly_only_for_reports(
    good: Path, tmp_path: Path, option: str
) -> None:
    output = {"--json": [], "--report": [tmp_path / "r.html"], "--timeline": [tmp_path / "t.json"]}[option]
    heavy = "sorted({'torch', 'transformers', 'peft', 'plotly', 'ray', 'pandas'} & set(sys.modules))"
    code = f"import sys, atexit; atexit.register(lambda: sys.stderr.write(repr({heavy})))"
    done = spawned("--trace", good, option, *output, code=code)
    assert done.stderr.splitlines()[-1].endswith("['plotly']" if option == "--report" else "[]")


BAD: dict[str, tuple[Callable[[Content], object], str]] = {
    "version": (lambda c: c.update(format="oospec-trace/9"), "format"),
    "negative": (lambda c: c["timing"]["host"][0].update(seconds=-1), "timing.host.0.seconds"),
    "nan": (lambda c: c["requests"][0].update(before=float("nan")), "before"),
    "short profile": (lambda c: c["requests"][0]["profiles"][1]["accepted"].pop(), "profiles.1.accepted"),
    "early hint": (lambda c: c["requests"][0]["publishes"][0].update(seconds=-0.1), "publishes.0.seconds"),
    "no samples": (lambda c: c["timing"].update(target_verify=[]), "timing.target_verify"),
    "no requests": (lambda c: c.update(requests=[]), "requests"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_damaged_trace_is_one_line_with_file_and_field(good: Path, tmp_path: Path, name: str) -> None:
    change, field = BAD[name]
    path = changed(good, tmp_path, change)
    line = refused("--trace", path)
    assert str(path) in line
    assert field in line


@pytest.mark.parametrize(("text", "said"), [(None, ""), ("{oops", "not JSON"), ("[]", "expected")])
def test_a_file_that_is_no_trace_is_named(tmp_path: Path, text: str | None, said: str) -> None:
    path = tmp_path / "x.json"
    if text is not None:
        path.write_text(text)
    line = refused("--trace", path)
    assert str(path) in line
    assert said in line


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("", "--trace"),
        ("--trace T --placement splitt", "did you mean 'split'"),
        ("--trace T --method oospek", "did you mean 'oospec'"),
        ("--trace T --load poisson:rate=-1", "rate: must be from 0.0001"),
        ("--trace T --scale-sidecar 0", "scale_sidecar"),
        ("--trace T --set link_latensy=1", "did you mean 'link_latency'"),
        ("--trace T --set link_latency", "FIELD=VALUE"),
        ("--trace T --set method=ar", "--set method: it has an option of its own; write --method"),
        ("--trace T --set scale_sidecar=2", "write --scale-sidecar"),
        ("--trace T --seed -1", "--seed"),
        ("--trace T --fast", "--fast"),
        ("--trace T --report /nowhere/r.html", "/nowhere"),
        ("--trace T --timeline /tmp/t.png", ".html"),
        ("--trace T --timeline T", "another file"),
        ("--trace T --colocated O --report O", "another file"),
        ("--trace T --colocated O --timeline O", "another file"),
        ("--trace T --colocated O --placement shared-fair", "5 of each are needed"),  # nothing overlaps in it
        ("--trace T study x.toml", "--trace does not belong to study"),
    ],
)
def test_options_that_cannot_be_are_named(good: Path, tmp_path: Path, arguments: str, said: str) -> None:
    content, other = good.read_bytes(), tmp_path / "o.json"
    other.write_bytes(content)
    files = {"T": good, "O": other}
    assert said in refused(*(files.get(each, each) for each in arguments.split()))
    assert good.read_bytes() == other.read_bytes() == content


def test_a_trace_without_profiles_can_only_be_replayed_as_ar(tmp_path: Path) -> None:
    path = tmp_path / "bare.json"
    write_trace(trace([request("r", 9, steps=0).model_copy(update={"profiles": []})]), path)
    assert "toolspec" not in told("--trace", path)


@pytest.mark.parametrize("arguments", [("--help",), ("--check", "T"), ("--trace", "T"), ("fidelity", "--help")])
def test_whoever_closes_stdout_has_enough(good: Path, arguments: tuple[str, ...]) -> None:
    read, out = os.pipe()
    os.close(read)
    command = [*COMMAND, *(str(good) if each == "T" else each for each in arguments)]
    done = subprocess.run(command, stdout=out, stderr=subprocess.PIPE, text=True, timeout=120, check=False)
    os.close(out)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("arguments", [("--check",), ("--json", "--trace")])
def test_a_full_disk_under_stdout_is_one_line(good: Path, arguments: tuple[str, ...]) -> None:
    with open("/dev/full", "w") as full:
        command = [*COMMAND, *arguments, str(good)]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=120, check=False)
    assert done.returncode == 2
    assert done.stderr == "oospec-sim: stdout: cannot write: No space left on device\n"


def test_names_in_a_trace_steer_no_terminal(good: Path, tmp_path: Path) -> None:
    def rename(content: Content) -> None:
        content["provenance"]["target"]["name"] = "a\x1b[31mb"
        content["provenance"]["parts"]["hints"]["how"] = "c\x9b1md"
        for each in content["requests"]:
            each["method"] = "sche\x1b[2Jma"

    done = run("--trace", changed(good, tmp_path, rename), "--method", "ar,sche\x1b[2Jma")
    assert done.code == 0, done.err
    assert "sche\\x1b[2Jma" in done.out
    assert not {"\x1b", "\x9b"} & set(done.out + done.err)
