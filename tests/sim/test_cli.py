"""What oospec-sim prints, and what it does with bad input: one line on stderr that names it, exit code 2."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from helpers.sim_traces import random_requests, request, trace
from oospec_async.trace import write_trace

TABLE = """
name = "t"
trace = "t.json"
"""


def run(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from sim.entry import main; main()", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, cwd=cwd)


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """The one line that a refused command prints; run in this process."""
    from sim.cli import main

    def refuse(*arguments: str) -> str:
        monkeypatch.setattr(sys, "argv", ["oospec-sim", *arguments])
        with pytest.raises(SystemExit) as left:
            main()
        assert left.value.code == 2
        out, err = capsys.readouterr()
        assert out == ""
        (line,) = err.splitlines()
        assert line.startswith("oospec-sim: ")
        return line

    return refuse


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("traces") / "t.json"
    write_trace(trace(random_requests(12, 3), noise=0.1), path)
    return path


def changed(good: Path, folder: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    content = json.loads(good.read_text())
    change(content)
    path = folder / "changed.json"
    path.write_text(json.dumps(content))
    return path


def test_a_trace_alone_gives_a_table_that_says_what_is_behind_it(good: Path) -> None:
    done = run("--trace", str(good))
    assert done.returncode == 0, done.stderr
    for said in ("12 requests, simulated from modelled parts", "oospec@zero", "decode, modelled", "made up for tests"):
        assert said in done.stdout
    assert done.stderr == ""


def test_json_alone_is_on_stdout_and_has_every_request(good: Path, tmp_path: Path) -> None:
    outputs = ("--timeline", str(tmp_path / "t.json"), "--report", str(tmp_path / "r.html"))
    done = run("--trace", str(good), "--json", *outputs)
    found = json.loads(done.stdout)
    assert found["simulated_from"] == "modelled"
    assert [r["scenario"]["method"] for r in found["results"]] == ["ar", "toolspec", "oospec", "oospec@zero", "perfect"]
    assert all(len(result["requests"]) == 12 for result in found["results"])
    assert json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    assert "</html>" in (tmp_path / "r.html").read_text()
    assert "report:" in done.stderr


def test_a_gzipped_trace_is_read(good: Path, tmp_path: Path) -> None:
    path = tmp_path / "t.json.gz"
    path.write_bytes(gzip.compress(good.read_bytes()))
    assert run("--trace", str(path), "--json").returncode == 0


def test_check_says_fine_or_everything_that_is_wrong(good: Path, tmp_path: Path) -> None:
    assert run("--check", str(good)).stdout == f"{good}: fine\n"

    def damage(content: dict[str, Any]) -> None:
        content["requests"][0]["profiles"][0]["drafted"].pop()
        content["requests"][1]["publishes"][0]["seconds"] = 999.0

    done = run("--check", str(changed(good, tmp_path, damage)))
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) >= 2
    assert "profiles.0.drafted" in done.stderr


@pytest.mark.parametrize("option", ["--json", "--report", "--timeline"])
def test_torch_and_transformers_are_never_imported_and_plotly_only_for_reports(
    good: Path, tmp_path: Path, option: str
) -> None:
    output = {"--json": [], "--report": [str(tmp_path / "r.html")], "--timeline": [str(tmp_path / "t.json")]}[option]
    code = (
        "import sys\nfrom sim.entry import main\n"
        "try:\n    main()\nfinally:\n"
        "    heavy = {'torch', 'transformers', 'peft', 'plotly', 'ray', 'pandas'} & set(sys.modules)\n"
        "    sys.stderr.write(repr(sorted(heavy)))"
    )
    command = [sys.executable, "-c", code, "--trace", str(good), option, *output]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert done.stderr.splitlines()[-1].endswith("['plotly']" if option == "--report" else "[]")


def test_a_trace_that_is_no_trace_is_named(refused: Callable[..., str], tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    assert str(path) in refused("--trace", str(path))
    path.write_text("{oops")
    assert "not JSON" in refused("--trace", str(path))
    path.write_text("[]")
    assert str(path) in refused("--trace", str(path))


BAD: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "version": (lambda c: c.update(format="oospec-trace/9"), "format"),
    "negative": (lambda c: c["timing"]["host"][0].update(seconds=-1), "timing.host.0.seconds"),
    "nan": (lambda c: c["requests"][0].update(before=float("nan")), "before"),
    "short profile": (lambda c: c["requests"][0]["profiles"][1]["accepted"].pop(), "profiles.1.accepted"),
    "early hint": (lambda c: c["requests"][0]["publishes"][0].update(seconds=-0.1), "publishes.0.seconds"),
    "no samples": (lambda c: c["timing"].update(target_verify=[]), "timing.target_verify"),
    "no requests": (lambda c: c.update(requests=[]), "requests"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_damaged_trace_is_one_line_with_file_and_field(
    refused: Callable[..., str], good: Path, tmp_path: Path, name: str
) -> None:
    change, field = BAD[name]
    path = changed(good, tmp_path, change)
    line = refused("--trace", str(path))
    assert str(path) in line
    assert field in line


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "--trace"),
        (("--placement", "splitt"), "did you mean 'split'"),
        (("--method", "oospek"), "did you mean 'oospec'"),
        (("--load", "poisson:rate=-1"), "rate: must be from 0.0001"),
        (("--scale-sidecar", "0"), "scale_sidecar"),
        (("--set", "link_latensy=1"), "did you mean 'link_latency'"),
        (("--set", "link_latency"), "FIELD=VALUE"),
        (("--set", "method=ar"), "--set method: it has an option of its own; write --method"),
        (("--set", "scale_sidecar=2"), "write --scale-sidecar"),
        (("--seed", "-1"), "--seed"),
        (("--fast",), "--fast"),
        (("--report", "/nowhere/r.html"), "/nowhere"),
        (("--timeline", "/tmp/t.png"), ".html"),
    ],
)
def test_options_that_cannot_be_are_named(
    refused: Callable[..., str], good: Path, arguments: tuple[str, ...], said: str
) -> None:
    given = ("--trace", str(good)) if arguments else ()
    assert said in refused(*given, *arguments)


def test_the_trace_is_never_written_over(refused: Callable[..., str], good: Path) -> None:
    before = good.read_bytes()
    assert "another file" in refused("--trace", str(good), "--timeline", str(good))
    assert good.read_bytes() == before


def test_options_of_a_run_do_not_belong_to_a_study(refused: Callable[..., str], good: Path) -> None:
    assert "--trace does not belong to study" in refused("--trace", str(good), "study", "x.toml")


def test_a_trace_without_profiles_can_only_be_replayed_as_ar(good: Path, tmp_path: Path) -> None:
    path = tmp_path / "bare.json"
    write_trace(trace([request("r", 9, steps=0).model_copy(update={"profiles": []})]), path)
    done = run("--trace", str(path))
    assert done.returncode == 0, done.stderr
    assert "toolspec" not in done.stdout


def test_a_colocated_trace_without_overlap_is_refused(refused: Callable[..., str], good: Path) -> None:
    line = refused("--trace", str(good), "--placement", "shared-fair", "--colocated", str(good))
    assert "5 of each are needed" in line


def test_a_full_disk_under_stdout_is_one_line(good: Path) -> None:
    command = [sys.executable, "-c", "from sim.entry import main; main()", "--trace", str(good), "--json"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "stdout" in done.stderr


def test_the_colocated_trace_is_never_written_over(refused: Callable[..., str], good: Path, tmp_path: Path) -> None:
    other = tmp_path / "o.json"
    other.write_bytes(good.read_bytes())
    for option in ("--report", "--timeline"):
        assert "another file" in refused("--trace", str(good), "--colocated", str(other), option, str(other))
    assert other.read_bytes() == good.read_bytes()


def into(stdout: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """With a closed or a full stdout."""
    command = [sys.executable, "-c", "from sim.entry import main; main()", *arguments]
    if stdout == "closed":
        read, out = os.pipe()
        os.close(read)
    else:
        out = os.open("/dev/full", os.O_WRONLY)
    try:
        return subprocess.run(command, stdout=out, stderr=subprocess.PIPE, text=True, timeout=120, check=False)
    finally:
        os.close(out)


@pytest.mark.parametrize("arguments", [("--help",), ("--check", "T"), ("--trace", "T"), ("fidelity", "--help")])
def test_whoever_closes_stdout_has_enough(good: Path, arguments: tuple[str, ...]) -> None:
    done = into("closed", *(str(good) if each == "T" else each for each in arguments))
    assert done.returncode == 0
    assert done.stderr == ""


def test_a_check_into_a_full_stdout_is_one_line(good: Path) -> None:
    done = into("full", "--check", str(good))
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line == "oospec-sim: stdout: cannot write: No space left on device"


def test_names_in_a_trace_steer_no_terminal(good: Path, tmp_path: Path) -> None:
    def rename(content: dict[str, Any]) -> None:
        content["provenance"]["target"]["name"] = "a\x1b[31mb"
        content["provenance"]["parts"]["hints"]["how"] = "c\x9b1md"
        for each in content["requests"]:
            each["method"] = "sche\x1b[2Jma"

    done = run("--trace", str(changed(good, tmp_path, rename)), "--method", "ar,sche\x1b[2Jma")
    assert done.returncode == 0, done.stderr
    assert "sche\\x1b[2Jma" in done.stdout
    assert not {"\x1b", "\x9b"} & set(done.stdout + done.stderr)
