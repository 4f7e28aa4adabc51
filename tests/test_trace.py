"""Reading a trace refuses what cannot be, in one line that names the file and the field."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from oospec_async.errors import OospecError
from oospec_async.trace import PARTS, Trace, check_trace, read_trace, write_trace

Json = Any


def good() -> Json:
    """A small trace in which everything fits: two requests, one of them with a wave, hints and rounds."""
    info = {"name": "m", "source": "s", "weights_sha256": "", "dtype": "bfloat16", "device": "cpu"}
    timed = {"request": "a", "seconds": 0.5}
    return {
        "format": "oospec-trace/1",
        "provenance": {
            "parts": {part: {"kind": "modelled", "how": "by hand"} for part in PARTS},
            "target": info,
            "sidecar": None,
            "software": {},
            "date": "2026-01-01",
            "curve": [[1, 0.1], [8, 0.2]],
        },
        "timing": {
            "target_prefill": [{**timed, "tokens": 7}],
            "target_verify": [{**timed, "tokens": 3, "context": 7}],
            "sidecar_prefill": [{**timed, "tokens": 4}],
            "sidecar_step": [{**timed, "tokens": 2, "branches": 2, "context": 4}],
            "host": [timed],
            "link": [{"bytes": 10, "seconds": 1e-5}],
        },
        "requests": [
            {
                "request": "a",
                "method": "oospec",
                "prompt_tokens": 7,
                "output_tokens": 6,
                "functions": 1,
                "slots": 2,
                "payload_bytes": 20,
                "arrival": 0.0,
                "before": 0.1,
                "publishes": [
                    {"seconds": 0.25, "version": 1, "ready": 1, "bytes": 10},
                    {"seconds": 1.5, "version": 3, "ready": 2, "bytes": 20},
                ],
                "wave": {
                    "start": -0.25,
                    "steps": [
                        {"kind": "prefill", "tokens": 4, "branches": 0, "context": 0, "seconds": 0.5, "publishes": 1},
                        {"kind": "step", "tokens": 2, "branches": 2, "context": 4, "seconds": 0.5, "publishes": None},
                        {"kind": "step", "tokens": 1, "branches": 1, "context": 6, "seconds": 0.75, "publishes": 3},
                    ],
                },
                "rounds": [
                    {"start": 1.0, "seconds": 0.25, "position": 1, "tokens": 3, "accepted": 1, "committed": 2,
                     "hint_version": 1},
                    {"start": 1.5, "seconds": 0.25, "position": 3, "tokens": 4, "accepted": 2, "committed": 3,
                     "hint_version": 3},
                ],
                "profiles": [
                    {"version": 0, "drafted": [1, 1, 1, 1, 0], "accepted": [1, 1, 1, 1, 0]},
                    {"version": 1, "drafted": [2, 1, 1, 1, 0], "accepted": [1, 1, 1, 1, 0]},
                    {"version": 3, "drafted": [4, 3, 3, 1, 2], "accepted": [4, 3, 2, 1, 0]},
                ],
            },
            {
                "request": "b",
                "method": "oospec",
                "prompt_tokens": 7,
                "output_tokens": 1,
                "functions": 0,
                "slots": 0,
                "payload_bytes": 0,
                "publishes": [],
                "rounds": [],
            },
        ],
    }  # fmt: skip


def written(raw: Json, path: Path) -> Path:
    path.write_text(json.dumps(raw))
    return path


def test_a_whole_trace_is_read(tmp_path: Path) -> None:
    trace = read_trace(written(good(), tmp_path / "t.json"))
    assert trace == Trace.model_validate(good())
    assert check_trace(tmp_path / "t.json") == []


@pytest.mark.parametrize("name", ["t.json", "t.json.gz"])
def test_what_is_written_is_read_again_and_the_same_trace_gives_the_same_bytes(name: str, tmp_path: Path) -> None:
    trace = Trace.model_validate(good())
    path = tmp_path / name
    write_trace(trace, path)
    first = path.read_bytes()
    assert first.startswith(b"\x1f\x8b") is name.endswith(".gz")
    assert read_trace(path) == trace
    write_trace(read_trace(path), path)
    assert path.read_bytes() == first


def test_a_gzipped_trace_is_known_by_its_content(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_bytes(gzip.compress(json.dumps(good()).encode()))
    assert len(read_trace(path).requests) == 2


def test_a_written_trace_has_a_line_a_request(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    write_trace(Trace.model_validate(good()), path)
    lines = path.read_text().splitlines()
    assert [json.loads(line.rstrip(","))["request"] for line in lines if line.startswith('{"request"')] == ["a", "b"]


Change = Callable[[Json], object]


def put(*path: str | int, to: Json) -> Change:
    """Set one field."""

    def change(raw: Json) -> None:
        for step in path[:-1]:
            raw = raw[step]
        raw[path[-1]] = to

    return change


def drop(*path: str | int) -> Change:
    def change(raw: Json) -> None:
        for step in path[:-1]:
            raw = raw[step]
        del raw[path[-1]]

    return change


A = ("requests", 0)
NAN = float("nan")
WRONG: dict[str, tuple[Change, str]] = {
    # field by field
    "version": (put("format", to="oospec-trace/9"), "format: Input should be 'oospec-trace/1', not 'oospec-trace/9'"),
    "no format": (put("format", to=None), "format: Input should be 'oospec-trace/1', not None"),
    "unknown field": (put("extra", to=1), "extra: unknown"),
    "missing field": (drop("requests", 0, "prompt_tokens"), "requests.0.prompt_tokens: missing"),
    "no timing": (drop("timing"), "timing: missing"),
    "negative time": (put("timing", "host", 0, "seconds", to=-1), "timing.host.0.seconds"),
    "nan": (put("timing", "target_verify", 0, "seconds", to=NAN), "timing.target_verify.0.seconds"),
    "infinite": (put(*A, "rounds", 0, "start", to=float("inf")), "requests.0.rounds.0.start"),
    "nan curve": (put("provenance", "curve", 1, 1, to=NAN), "provenance.curve.1.1"),
    "free curve": (put("provenance", "curve", 1, 1, to=0), "provenance.curve.1.1"),
    "text for a number": (put(*A, "before", to="soon"), "requests.0.before"),
    "negative arrival": (put(*A, "arrival", to=-0.5), "requests.0.arrival"),
    "endless time": (put("timing", "host", 0, "seconds", to=1e12), "timing.host.0.seconds: Input should be less than"),
    "late arrival": (put(*A, "arrival", to=1e300), "requests.0.arrival: Input should be less than"),
    "early wave": (put(*A, "wave", "start", to=-1e10), "requests.0.wave.start: Input should be greater than"),
    "endless round": (put(*A, "rounds", 0, "start", to=1e10), "requests.0.rounds.0.start"),
    "endless output": (put("requests", 1, "output_tokens", to=10**9), "requests.1.output_tokens"),
    "count": (put("timing", "target_verify", 0, "context", to=10**18), "timing.target_verify.0.context"),
    "bytes": (put(*A, "publishes", 0, "bytes", to=10**30), "requests.0.publishes.0.bytes"),
    "endless curve": (put("provenance", "curve", 1, 1, to=1e9), "provenance.curve.1.1"),
    "early hint": (put(*A, "publishes", 0, "seconds", to=-0.5), "requests.0.publishes.0.seconds"),
    "version zero": (put(*A, "publishes", 0, "version", to=0), "requests.0.publishes.0.version"),
    "negative count": (put(*A, "profiles", 0, "drafted", 2, to=-1), "requests.0.profiles.0.drafted.2"),
    "kind of step": (put(*A, "wave", "steps", 0, "kind", to="nap"), "requests.0.wave.steps.0.kind"),
    "requests no list": (put("requests", to={}), "requests: a list"),
    # fields together
    "part": (drop("provenance", "parts", "hints"), "provenance.parts: 'hints'"),
    "empty curve": (put("provenance", "curve", to=[]), "provenance.curve: should not be empty"),
    "unordered curve": (put("provenance", "curve", to=[[8, 1], [1, 1]]), "provenance.curve: tree sizes"),
    "no requests": (lambda raw: raw["requests"].clear(), "requests: should not be empty"),
    "twice": (put("requests", 1, "request", to="a"), "requests.1: 'a' by 'oospec' is there twice"),
    "unknown request": (put("timing", "sidecar_step", 0, "request", to="z"), "timing.sidecar_step.0.request: 'z'"),
    "versions": (put(*A, "publishes", 1, "version", to=1), "requests.0.publishes.1.version"),
    "hints backwards": (put(*A, "publishes", 1, "seconds", to=0.1), "requests.0.publishes.1.seconds"),
    "wave version": (put(*A, "wave", "steps", 1, "publishes", to=2), "requests.0.wave.steps.1.publishes"),
    "wave version twice": (put(*A, "wave", "steps", 1, "publishes", to=1), "requests.0.wave.steps.1.publishes"),
    "wave is silent": (put(*A, "wave", "steps", 2, "publishes", to=None), "requests.0.wave.steps: none publishes"),
    "wave time": (put(*A, "publishes", 1, "seconds", to=1.4), "requests.0.wave.steps.2.publishes"),
    "two prefills": (put(*A, "wave", "steps", 1, "kind", to="prefill"), "requests.0.wave.steps.1.kind"),
    "no prefill": (put(*A, "wave", "steps", 0, "kind", to="step"), "requests.0.wave.steps.0.kind"),
    "no branches": (put(*A, "wave", "steps", 1, "branches", to=0), "requests.0.wave.steps.1.branches"),
    "profile versions": (put(*A, "profiles", 2, "version", to=2), "requests.0.profiles: of versions [0, 1, 2]"),
    "no plain profile": (drop(*A, "profiles", 0), "requests.0.profiles: of versions [1, 3]"),
    "short profile": (drop(*A, "profiles", 1, "drafted", 4), "requests.0.profiles.1.drafted: 4 entries"),
    "long profile": (lambda raw: raw["requests"][0]["profiles"][2]["accepted"].append(0), "profiles.2.accepted: 6"),
    "more accepted": (put(*A, "profiles", 0, "accepted", 4, to=1), "requests.0.profiles.0.accepted.4: 1 of 0"),
    "past the end": (put(*A, "profiles", 2, "accepted", 4, to=1), "requests.0.profiles.2.accepted.4: 1 accepted"),
    "position": (put(*A, "rounds", 1, "position", to=2), "requests.0.rounds.1.position: 2; 3 tokens"),
    "committed": (put(*A, "rounds", 0, "committed", to=3), "requests.0.rounds.0.committed: 3"),
    "accepted": (put(*A, "rounds", 0, "tokens", to=1), "requests.0.rounds.0.accepted: 1 of 0"),
    "rounds backwards": (put(*A, "rounds", 1, "start", to=1.1), "requests.0.rounds.1.start: 1.1"),
    "hint backwards": (put(*A, "rounds", 1, "hint_version", to=0), "requests.0.rounds.1.hint_version: 0 after 1"),
    "hint unknown": (put(*A, "rounds", 0, "hint_version", to=2), "requests.0.rounds.0.hint_version: 2 is not"),
    "hint from the future": (put(*A, "rounds", 0, "hint_version", to=3), "requests.0.rounds.0.hint_version: 3 is pub"),
    "too few rounds": (drop(*A, "rounds", 1), "requests.0.rounds: commit 3 tokens"),
    "profile and round": (put(*A, "profiles", 1, "drafted", 0, to=3), "requests.0.rounds.0.tokens: 2 drafted"),
}


@pytest.mark.parametrize("name", list(WRONG))
def test_what_is_wrong_is_named_by_file_and_field_in_one_line(name: str, tmp_path: Path) -> None:
    change, expected = WRONG[name]
    raw = good()
    change(raw)
    path = written(raw, tmp_path / "t.json")
    with pytest.raises(OospecError) as error:
        read_trace(path)
    assert str(error.value).startswith(f"{path}: ")
    assert "\n" not in str(error.value)
    lines = check_trace(path)
    assert any(expected in line for line in lines), lines
    assert all(line.startswith(f"{path}: ") and "\n" not in line for line in lines)


def test_what_is_wrong_within_a_request_tells_which(tmp_path: Path) -> None:
    raw = good()
    raw["requests"][0]["rounds"][0]["committed"] = 3
    assert check_trace(written(raw, tmp_path / "t.json"))[0].endswith("(request 'a', oospec)")


def test_everything_that_is_wrong_is_told_by_a_check_and_counted_by_a_reader(tmp_path: Path) -> None:
    raw = good()
    raw["timing"]["target_verify"][0]["request"] = "z"
    raw["timing"]["host"][0]["request"] = "z"
    path = written(raw, tmp_path / "t.json")
    assert len(check_trace(path)) == 2
    with pytest.raises(OospecError, match=r"target_verify.*and 1 more"):
        read_trace(path)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"{oops", "not JSON"),
        (b"", "not JSON"),
        (b"[]", "an object"),
        (b'"text"', "an object"),
        (b"\xff\xfe", "not JSON"),
        (b"\x1f\x8bbroken", "damaged gzip"),
        (gzip.compress(b"{}")[:-6], "damaged gzip"),
    ],
)
def test_what_is_no_trace_is_refused_in_one_line(data: bytes, expected: str, tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_bytes(data)
    with pytest.raises(OospecError) as error:
        read_trace(path)
    assert str(error.value).startswith(f"{path}: ")
    assert expected in str(error.value)
    assert "\n" not in str(error.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    for path in (tmp_path / "no.json", tmp_path):
        for read in (read_trace, check_trace):
            with pytest.raises(OospecError, match=str(path)):
                read(path)


def test_reading_a_trace_imports_neither_torch_nor_transformers(tmp_path: Path) -> None:
    path = written(good(), tmp_path / "t.json")
    code = (
        "import sys; from pathlib import Path; from oospec_async.trace import read_trace; "
        f"read_trace(Path({str(path)!r})); print(sorted({{'torch', 'transformers', 'numpy'}} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"
