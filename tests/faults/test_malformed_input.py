"""Malformed input to ``oospec-run``: one line that names file and field, exit code 2, and nothing on stdout.

The command runs within this process, so that there can be many cases.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from helpers.refusals import refused, row, run


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"{oops", ":1: not JSON"), (b"\xff", "not UTF-8"), (row(id=5) + b"\n[", ":1: id: text is expected, not 5; 1")],
)
def test_a_file_of_requests(content: bytes, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What else is refused in such a file is in ``tests/test_read_requests.py``."""
    path = tmp_path / "r.jsonl"
    path.write_bytes(content)
    assert f"{path}{'' if said.startswith(':') else ': '}{said}" in refused(capsys, "--live", path, "--method", "ar")


# Arguments after ``--live FILE``, and what the line must say. HERE is a folder of the test's own.
OPTIONS: dict[str, tuple[list[str], str]] = {
    "an unknown device": (["--devices", "tpu:0"], "device 'tpu:0': unknown"),
    "a core that is not there": (["--devices", "cpu:9999"], "device 'cpu:9999': no such core"),
    "a GPU that is not there": (["--devices", "cuda:77"], "device 'cuda:77': torch sees"),
    "three devices": (["--devices", "cpu,cpu,cpu"], "name one or two devices"),
    "no device": (["--devices", ""], "device '': unknown"),
    "an unknown method": (["--method", "medusa"], "'medusa' is neither a method"),
    "an unknown drafter": (["--method", "schema+medusa"], "'medusa'"),
    "a method twice": (["--compare", "ar,ar"], "names a method twice"),
    "an empty method": (["--compare", "ar,"], "''"),
    "methods twice": (["--method", "ar", "--compare", "ar"], "exclude each other"),
    "no requests": (["--limit", "0"], "--limit"),
    "negative tokens": (["--max-new-tokens", "-5"], "--max-new-tokens"),
    "an unknown dtype": (["--dtype", "int3"], "--dtype"),
    "an unknown option": (["--fast"], "--fast"),
    "a second file": (["more.jsonl"], "more.jsonl"),
    "an adapter for nobody": (["--adapter", "HERE"], "--adapter belongs to a sidecar"),
    "a draft without a model": (["--compare", "ar,schema+draft"], "--draft-model"),
    "a draft model for nobody": (["--draft-model", "HERE"], "--draft-model"),
    "a draft that is to be recorded": (
        ["--method", "draft", "--draft-model", "HERE", "--record", "HERE/t.json"], "'draft' cannot be recorded",
    ),
    "a trace to replay": (["--trace", "t.json"], "write oospec-sim live t.json"),
    "a trace in no folder": (["--record", "/nowhere/t.json"], "there is no folder /nowhere"),
    "a timeline in no folder": (["--timeline", "/nowhere/t.html"], "there is no folder /nowhere"),
    "a trace that is a folder": (["--record", "HERE"], "is no regular file"),
    "a trace over the requests": (["--record", "HERE/good.jsonl"], "HERE/good.jsonl: is read or written already"),
    "a timeline over the requests": (["--timeline", "HERE/good.jsonl"], "timeline HERE/good.jsonl"),
    "a timeline of another kind": (["--timeline", "HERE/t.png"], "timeline HERE/t.png"),
    "one file twice": (["--record", "HERE/t.json", "--timeline", "HERE/t.json"], "t.json: is read or written already"),
    "a target that is not there": (["--target", "HERE/nothing"], "HERE/nothing"),
    "a target that is a file": (["--target", "HERE/good.jsonl"], "HERE/good.jsonl is a file"),
    "a target that is an empty folder": (["--target", "HERE"], "HERE lacks config.json"),
    "a target without a name": (["--target", ""], "'': no such directory"),
}  # fmt: skip


@pytest.mark.parametrize("wrong", OPTIONS)
def test_an_option(wrong: str, good: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("oospec_async.runtime.open.load", None)  # it is said before anything is loaded
    given, said = OPTIONS[wrong]
    options = [each.replace("HERE", str(good.parent)) for each in given]
    method = [] if {"--method", "--compare"} & set(options) else ["--method", "ar"]
    assert said.replace("HERE", str(good.parent)) in refused(capsys, "--live", good, *method, *options)
    assert [path.name for path in good.parent.iterdir()] == ["good.jsonl"]
    assert good.read_bytes() == row()


def test_without_a_mode(good: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = refused(capsys, good)
    assert "say --live" in line
    assert "--fetch" in line


def mixed(at: Path) -> Path:
    """Five requests: the second is none, and the fourth is too long."""
    rows = [row(id="a"), row(id="b", stop=5), row(id="c"), row(id="d", messages=LONG), row(id="e")]
    path = at / "mixed.jsonl"
    path.write_bytes(b"\n".join(rows))
    return path


LONG = [{"role": "user", "content": "word " * 3000}]
MODEL = ("--method", "ar", "--devices", "cpu", "--max-new-tokens", 4)


@pytest.mark.parametrize("as_json", [True, False])
def test_bad_requests_cost_the_good_ones_nothing(
    as_json: bool, tiny_llama: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = mixed(tmp_path)
    code, out, err = run(capsys, "--live", path, "--target", tiny_llama, *MODEL, *["--json"] * as_json)
    refused_at_once, too_long, *_, last = [line for line in err.splitlines() if str(path) in line]
    reasons = f"{path}:2: stop: a list is expected, not 5", f"{path}:4: request 'd': its prompt has"
    assert (code, "Traceback" in err) == (2, False)
    assert refused_at_once == f"not served: {reasons[0]}"
    assert too_long.startswith(f"not served: {reasons[1]}")
    assert too_long.endswith("context is 2048; shorten the messages or offer fewer tools")
    assert last == f"oospec-run: {reasons[0]}; 1 more failed: 'd'"
    if as_json:
        result = json.loads(out)
        assert [completion["request"] for completion in result["completions"]] == ["a", "c", "e"]
        assert [(failure["request"], failure["method"]) for failure in result["failures"]] == [("b", None), ("d", None)]
    else:
        assert "3 requests" in out


def test_strictly_one_bad_request_is_enough(
    tiny_llama: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ("--target", tiny_llama, *MODEL, "--strict")
    assert ":2: stop: a list is expected, not 5" in refused(capsys, "--live", mixed(tmp_path), *arguments)
    path = tmp_path / "r.jsonl"
    path.write_bytes(row(id="fine") + b"\n" + row(id="long", messages=LONG))
    assert ":2: request 'long': its prompt has" in refused(capsys, "--live", path, *arguments)


def test_a_batch_is_answered_in_its_own_form(
    tiny_llama: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "batch.jsonl"
    body = json.loads(row(max_completion_tokens=4))
    rows = [{"custom_id": name, "method": "POST", "url": "/v1/chat/completions", "body": body} for name in "ab"]
    rows.insert(1, {"custom_id": "bad", "body": {**body, "stop": 5}})
    path.write_text("\n".join(map(json.dumps, rows)))
    live = ("--live", path, "--target", tiny_llama, "--devices", "cpu", "--json")
    code, out, _ = run(capsys, *live, "--method", "ar")
    first, second, bad = map(json.loads, out.splitlines())
    assert (code, [line["custom_id"] for line in (first, second, bad)]) == (2, ["a", "b", "bad"])
    assert (first["error"], first["response"]["status_code"]) == (None, 200)
    answer = first["response"]["body"]
    (choice,) = answer["choices"]
    assert answer["object"] == "chat.completion"
    assert answer["usage"]["completion_tokens"] == 4
    assert (choice["finish_reason"], choice["message"]["role"]) == ("length", "assistant")
    assert isinstance(choice["message"]["content"], str)
    assert bad["response"] is None
    assert bad["error"] == {"code": "invalid_request", "message": f"{path}:2: body.stop: a list is expected, not 5"}
    assert "a batch is answered by one method" in refused(capsys, *live, "--compare", "ar,pld")


# --- schemas that lie are no errors: they reach the prompt as they are, and have the slots that can be read

LIES: dict[str, Any] = {
    "a type that is a number": {"type": "object", "properties": {"a": {"type": 5}}},
    "an empty enum": {"type": "object", "properties": {"a": {"type": "string", "enum": []}}},
    "an enum that is text": {"type": "object", "properties": {"a": {"enum": "abc"}}},
    "required of what is not there": {"type": "object", "properties": {"a": {}}, "required": ["b", "c"]},
    "required that is a number": {"type": "object", "properties": {"a": {}}, "required": 5},
    "properties that are a list": {"type": "object", "properties": ["a"]},
    "a property that is text": {"type": "object", "properties": {"a": "string"}},
    "a name that is empty": {"type": "object", "properties": {"": {"type": "string"}}},
    "a reference to itself": {"type": "object", "properties": {"a": {"$ref": "#"}}},
    "no object at all": {"type": "array", "items": {"type": "string"}},
    "an enum of all kinds": {"type": "object", "properties": {"a": {"enum": [None, {}, [], 1.5, "x" * 300]}}},
}


def test_schemas_that_lie_are_served(tiny_llama: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "r.jsonl"
    rows = [row(id=name, tools=[{"name": "f", "parameters": lie}], max_new_tokens=8) for name, lie in LIES.items()]
    path.write_bytes(b"\n".join(rows))
    methods = ["--compare", "ar,toolspec", "--devices", "cpu", "--dtype", "float32", "--json"]
    code, out, err = run(capsys, "--live", path, "--target", tiny_llama, *methods)
    assert code == 0, err
    completions = json.loads(out)["completions"]
    assert [c["request"] for c in completions[::2]] == list(LIES)
    assert [c["tokens"] for c in completions[::2]] == [c["tokens"] for c in completions[1::2]]
