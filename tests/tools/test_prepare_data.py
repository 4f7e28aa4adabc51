"""Files of any form to files of requests."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.prepared import AREA, WATER, bfcl, dialogue, lines, made, prepare_data, question, refused
from oospec_async.request_file import read_requests

ROWS = [question(id=f"rooms_{n}") for n in range(3)]


@pytest.mark.parametrize(
    "data",
    [
        lines(*ROWS),
        lines(*ROWS).replace(b"\n", b"\r\n\r\n"),
        b"\xef\xbb\xbf" + lines(*ROWS).rstrip(b"\n"),
        gzip.compress(lines(*ROWS), mtime=0),
        json.dumps(ROWS, indent=1).encode(),
    ],
    ids=["lines", "crlf", "byte order mark", "gzip", "array"],
)
def test_forms_of_a_file(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes], data: bytes) -> None:
    source = tmp_path / "BFCL_v4_rooms.json"
    source.write_bytes(data)
    requests, _ = made(capfdbinary, "bfcl", source)
    assert [request["id"] for request in requests] == ["rooms_0", "rooms_1", "rooms_2"]
    requests, err = made(capfdbinary, "bfcl", source, "--limit", 2)
    assert [request["id"] for request in requests] == ["rooms_0", "rooms_1"]
    assert err.endswith(": 2 requests\n")


def test_a_file_is_replaced_whole_and_reads_as_requests(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, real, out = bfcl(tmp_path, ROWS), tmp_path / "real.jsonl", tmp_path / "link.jsonl"
    real.write_text("before")
    out.symlink_to(real)
    before = sorted(tmp_path.iterdir())
    assert prepare_data.main(["bfcl", str(source), "--out", str(out)]) == 0
    assert [request.id for request in read_requests(real)] == ["rooms_0", "rooms_1", "rooms_2"]
    assert "Zimmer von 3 mal 4 Metern" in real.read_text(encoding="utf-8")
    assert out.is_symlink()
    assert sorted(tmp_path.iterdir()) == before


def test_a_row_may_make_several_requests(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    document = {"paths": {"/a": {"get": {"operationId": "search", "parameters": []}}}}
    answers = [[{"Action": "search", "Action_Input": "{}"}]] * 2
    row = {"Name": "A", "Documentation": json.dumps(document), "Instructions": ["x", "y"], "Golden_Answers": answers}
    (tmp_path / "alpaca.jsonl").write_bytes(lines(row))
    requests, err = made(capfdbinary, "toolalpaca", tmp_path / "alpaca.jsonl")
    assert [request["id"] for request in requests] == ["A-0", "A-1"]
    assert requests[0]["gold"] == [{"name": "search", "arguments": {}}]
    assert all("accepted" not in request for request in requests)
    assert err.endswith(": 2 requests\n")


def test_the_script_writes_utf_8_in_any_locale_and_bears_a_closed_pipe(tmp_path: Path) -> None:
    source = bfcl(tmp_path, [question(id=f"rooms_{n}") for n in range(500)])  # more than a pipe holds
    command = [sys.executable, "-m", "tools.prepare_data", "bfcl", str(source)]
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        first = json.loads(process.stdout.readline())
        process.stdout.close()
        err = process.stderr.read().decode()
    assert first["messages"][0]["content"].startswith("Wie groß")
    assert process.returncode == 0
    assert "Traceback" not in err


def test_half_of_a_set_by_its_ids(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    source = bfcl(tmp_path, [question(id=f"rooms_{n}") for n in range(40)])
    everything, _ = made(capfdbinary, "bfcl", source)
    half, _ = made(capfdbinary, "bfcl", source, "--even-ids")
    ids = [request["id"] for request in everything]
    even = [each for each in ids if int(hashlib.sha1(each.encode()).hexdigest(), 16) % 2 == 0]
    assert [request["id"] for request in half] == even
    assert 0 < len(even) < 40
    first, _ = made(capfdbinary, "bfcl", source, "--even-ids", "--limit", 3)
    assert [request["id"] for request in first] == even[:3]


def test_shared_tools_are_those_of_the_group_and_a_second_one_of_a_name_is_left_out(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    height, other = {**AREA, "name": "height"}, {**AREA, "description": "Another."}
    functions = {"a": [AREA], "b": [other, height], "c": [height], "d": [other], "e": [other]}
    source = bfcl(tmp_path, [question(id=name, function=tools) for name, tools in functions.items()])
    requests, err = made(capfdbinary, "bfcl", source, "--share-tools", 2)
    listed = {request["id"]: [tool["function"] for tool in request["tools"]] for request in requests}
    assert listed == {"a": [AREA, height], "c": [AREA, height], "d": [other], "e": [other]}
    assert "1 x tool is not the one of this name in the shared list: request left out (first: b)" in err


def test_tools_in_the_text_cannot_be_shared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "level-1.jsonl").write_bytes(lines(dialogue(WATER)))
    message = refused(capsys, "api-bank", tmp_path / "level-1.jsonl", "--share-tools", 2)
    assert message == "--share-tools: request 'Water-level-1-1-3' has its tools in its text; leave the option out"
