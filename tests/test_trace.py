"""Reading a trace refuses what cannot be, in one line that names the file and the field."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
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


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "t.json"


def test_a_whole_trace_is_read_and_known_by_its_content(file: Path) -> None:
    trace = Trace.model_validate(good())
    assert read_trace(written(good(), file)) == trace
    assert check_trace(file) == []
    file.write_bytes(gzip.compress(json.dumps(good()).encode()))
    assert read_trace(file) == trace


@pytest.mark.parametrize("name", ["t.json", "t.json.gz"])
def test_what_is_written_is_read_again_and_the_same_trace_gives_the_same_bytes(name: str, tmp_path: Path) -> None:
    trace, path = Trace.model_validate(good()), tmp_path / name
    write_trace(trace, path)
    first = path.read_bytes()
    assert first.startswith(b"\x1f\x8b") is name.endswith(".gz")
    assert read_trace(path) == trace
    write_trace(read_trace(path), path)
    assert path.read_bytes() == first


def test_a_written_trace_has_a_line_a_request(file: Path) -> None:
    write_trace(Trace.model_validate(good()), file)
    lines = file.read_text().splitlines()
    assert [json.loads(line.rstrip(","))["request"] for line in lines if line.startswith('{"request"')] == ["a", "b"]


def refused(field: str, value: Json, file: Path) -> list[str]:
    """What a check says of a trace with another value there (...: with none), which a reader refuses in one line."""
    raw = inner = good()
    *steps, last = [int(step) if step.isdigit() else step for step in field.split(".")]
    for step in steps:
        inner = inner[step]
    if value is ...:
        del inner[last]
    else:
        inner[last] = value
    with pytest.raises(OospecError) as error:
        read_trace(written(raw, file))
    lines = check_trace(file)
    assert all(line.startswith(f"{file}: ") and "\n" not in line for line in [str(error.value), *lines])
    return [line.removeprefix(f"{file}: ") for line in lines]


def fields(value: Json, path: str = "") -> Iterator[tuple[str, Json]]:
    """Everything in a trace, by its path."""
    for key, each in value.items() if isinstance(value, dict) else enumerate(value):
        yield f"{path}{key}", each
        if isinstance(each, dict | list):
            yield from fields(each, f"{path}{key}.")


FAR = [float("nan"), float("inf"), -1e10, 1e13, 10**400, "soon", {}, []]


def test_no_field_takes_what_no_run_has(file: Path) -> None:
    """Times and counts far off, values of another kind, fields that nobody knows; and each is named."""
    for field, value in fields(good()):
        wrong = FAR if isinstance(value, int | float) else [3, {}, []] if isinstance(value, str) else [7, "soon"]
        for each in wrong:
            assert any(line.startswith(field) for line in refused(field, each, file)), (field, each)
        if isinstance(value, dict) and not field.endswith(("parts", "software")):
            assert refused(f"{field}.more", 1, file)[0].startswith(f"{field}.more: unknown; remove it")


@pytest.mark.parametrize(("field", "value", "said"), [
    ("format", "oospec-trace/9", "format: Input should be 'oospec-trace/1', not 'oospec-trace/9'"),
    ("requests.0.prompt_tokens", ..., "requests.0.prompt_tokens: missing"),
    ("timing", ..., "timing: missing"),
    ("provenance.curve.1.1", 0, "provenance.curve.1.1: Input should be greater than 0"),
    ("requests.0.publishes.0.version", 0, "requests.0.publishes.0.version: Input should be"),
    ("provenance.parts.hints", ..., "provenance.parts: 'hints'"),
    ("provenance.curve", [], "provenance.curve: should not be empty"),
    ("provenance.curve", [[8, 1], [1, 1]], "provenance.curve: tree sizes"),
    ("requests", [], "requests: should not be empty"),
    ("requests.1.request", "a", "requests.1: 'a' by 'oospec' is there twice"),
    ("timing.sidecar_step.0.request", "z", "timing.sidecar_step.0.request: 'z'"),
    ("requests.0.publishes.1.version", 1, "requests.0.publishes.1.version"),
    ("requests.0.publishes.1.seconds", 0.1, "requests.0.publishes.1.seconds"),
    ("requests.0.wave.steps.1.publishes", 2, "requests.0.wave.steps.1.publishes"),
    ("requests.0.wave.steps.1.publishes", 1, "requests.0.wave.steps.1.publishes"),
    ("requests.0.wave.steps.2.publishes", None, "requests.0.wave.steps: none publishes"),
    ("requests.0.publishes.1.seconds", 1.4, "requests.0.wave.steps.2.publishes"),
    ("requests.0.wave.steps.1.kind", "prefill", "requests.0.wave.steps.1.kind"),
    ("requests.0.wave.steps.0.kind", "step", "requests.0.wave.steps.0.kind"),
    ("requests.0.wave.steps.1.branches", 0, "requests.0.wave.steps.1.branches"),
    ("requests.0.profiles.2.version", 2, "requests.0.profiles: of versions [0, 1, 2]"),
    ("requests.0.profiles.0", ..., "requests.0.profiles: of versions [1, 3]"),
    ("requests.0.profiles.1.drafted.4", ..., "requests.0.profiles.1.drafted: 4 entries"),
    ("requests.0.profiles.2.accepted", [4, 3, 2, 1, 0, 0], "requests.0.profiles.2.accepted: 6 entries"),
    ("requests.0.profiles.0.accepted.4", 1, "requests.0.profiles.0.accepted.4: 1 of 0"),
    ("requests.0.profiles.2.accepted.4", 1, "requests.0.profiles.2.accepted.4: 1 accepted"),
    ("requests.0.rounds.1.position", 2, "requests.0.rounds.1.position: 2; 3 tokens"),
    ("requests.0.rounds.0.committed", 3,
     "requests.0.rounds.0.committed: 3; 1 accepted and the target's own are (request 'a', oospec)"),
    ("requests.0.rounds.0.tokens", 1, "requests.0.rounds.0.accepted: 1 of 0"),
    ("requests.0.rounds.1.start", 1.1, "requests.0.rounds.1.start: 1.1"),
    ("requests.0.rounds.1.hint_version", 0, "requests.0.rounds.1.hint_version: 0 after 1"),
    ("requests.0.rounds.0.hint_version", 2, "requests.0.rounds.0.hint_version: 2 is not"),
    ("requests.0.rounds.0.hint_version", 3, "requests.0.rounds.0.hint_version: 3 is pub"),
    ("requests.0.rounds.1", ..., "requests.0.rounds: commit 3 tokens"),
    ("requests.0.profiles.1.drafted.0", 3, "requests.0.rounds.0.tokens: 2 drafted"),
])  # fmt: skip
def test_what_is_wrong_is_named_by_its_field(field: str, value: Json, said: str, file: Path) -> None:
    lines = refused(field, value, file)
    assert any(line.startswith(said) for line in lines), lines


def test_everything_that_is_wrong_is_told_by_a_check_and_counted_by_a_reader(file: Path) -> None:
    raw = good()
    raw["timing"]["target_verify"][0]["request"] = raw["timing"]["host"][0]["request"] = "z"
    assert len(check_trace(written(raw, file))) == 2
    with pytest.raises(OospecError, match=r"target_verify.*and 1 more"):
        read_trace(file)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"{oops", "not JSON"),
        (b"", "not JSON"),
        (b"[]", "a trace (oospec-trace/1), an object with provenance, timing and requests, is expected, not list"),
        (b'"text"', "a trace (oospec-trace/1), an object with provenance, timing and requests, is expected, not 'te"),
        (b"\xff\xfe", "not JSON"),
        (b"\x1f\x8bbroken", "damaged gzip"),
        (gzip.compress(b"{}", mtime=0)[:-6], "damaged gzip"),
    ],
)
def test_what_is_no_trace_is_refused_in_one_line(data: bytes, expected: str, file: Path) -> None:
    file.write_bytes(data)
    with pytest.raises(OospecError) as error:
        read_trace(file)
    (line,) = str(error.value).splitlines()
    assert line.startswith(f"{file}: {expected}")


def test_a_file_that_is_not_there_is_named(file: Path) -> None:
    for path in (file, file.parent):
        for read in (read_trace, check_trace):
            with pytest.raises(OospecError, match=str(path)):
                read(path)
