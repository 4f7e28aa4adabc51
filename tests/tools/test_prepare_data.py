"""Rows to requests. The rows here are made up, in the shape of the sets that they stand for."""

from __future__ import annotations

import gzip
import hashlib
import importlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from oospec_async.request import read_requests

SCRIPT = Path(__file__).parents[2] / "tools" / "prepare_data.py"
sys.path.insert(0, str(SCRIPT.parent))
prepare_data: Any = importlib.import_module("prepare_data")

AREA = {
    "name": "geometry.area",
    "description": "Area of a room, in m².",
    "parameters": {
        "type": "dict",
        "properties": {
            "width": {"type": "float"},
            "depth": {"type": "float"},
            "unit": {"type": "string", "enum": ["m²", "ft²"]},
            "corners": {"type": "tuple", "items": {"type": "any"}},
            "floor": {"type": "dict", "properties": {"name": {"type": "string"}}, "required": ["name"]},
        },
        "required": ["width", "depth"],
    },
}


def question(**fields: Any) -> dict[str, Any]:
    turn = [{"role": "user", "content": "Wie groß ist ein Zimmer von 3 mal 4 Metern?"}]
    return {"id": "rooms_0", "question": [turn], "function": [AREA], **fields}


def answer(accepted: Any, **fields: Any) -> dict[str, Any]:
    return {"id": "rooms_0", "ground_truth": [{"geometry.area": accepted}], **fields}


def system(*entries: str) -> str:
    tools = "".join(f"{number}. Name: {entry}\n" for number, entry in enumerate(entries, start=1))
    return (
        "You can call tools.\n\n**Available Tools**\nThese are the tools:\n"
        f"{tools}\n**Output Format**\nA call.\n\n**Important Notes**\n1. Name: only in notes, no tool.\n"
    )


def dialogue(*entries: str, **fields: Any) -> dict[str, Any]:
    call = {"name": "Water", "parameters": {"litres": "2"}}
    row = {
        "system": system(*entries),
        "user": "***Dialogue\n<user>Water the plants：2 litres.</user>",
        "answer": [call],
    }
    return {**row, "other": {"file": "Water-level-1-1.jsonl", "id": 3}, **fields}


WATER = "Water\nDescription: Water the plants.\nParameters: {'litres': {'type': 'int', 'description': \"The can's\"}}"


def lines(*rows: Any) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def bfcl(folder: Path, rows: list[Any], answers: list[Any] | None = None, name: str = "BFCL_v4_rooms.json") -> Path:
    (folder / name).write_bytes(lines(*rows))
    if answers is not None:
        (folder / "possible_answer").mkdir(exist_ok=True)
        (folder / "possible_answer" / name).write_bytes(lines(*answers))
    return folder / name


def made(capfdbinary: pytest.CaptureFixture[bytes], *arguments: object) -> tuple[list[dict[str, Any]], str]:
    """The request lines on stdout and the text on stderr of a run that succeeds."""
    assert prepare_data.main([str(argument) for argument in arguments]) == 0
    captured = capfdbinary.readouterr()
    return [json.loads(line) for line in captured.out.decode().split("\n") if line], captured.err.decode()


def refused(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """The one line on stderr of a run that is refused."""
    assert prepare_data.main([str(argument) for argument in arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("prepare_data.py: ")
    assert captured.err.count("\n") == 1
    return captured.err.removeprefix("prepare_data.py: ").rstrip("\n")


def gold(capfdbinary: pytest.CaptureFixture[bytes], folder: Path, accepted: Any) -> tuple[Any, str]:
    (request,), err = made(capfdbinary, "bfcl", bfcl(folder, [question()], [answer(accepted)]))
    return request["gold"][0]["arguments"], err


def test_a_bfcl_row_keeps_its_functions_as_they_are(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    source = bfcl(tmp_path, [question()], [answer({"width": [3.0, 3], "depth": [4.0], "unit": ["", "m²"]})])
    (request,), err = made(capfdbinary, "bfcl", source)
    assert request == {
        "id": "rooms_0",
        "messages": question()["question"][0],
        "tools": [{"type": "function", "function": AREA}],
        "gold": [{"name": "geometry.area", "arguments": {"width": 3.0, "depth": 4.0}}],
    }
    assert err == f"{source}: 1 requests\n"


def test_the_first_accepted_value_of_each_leaf_is_gold(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    accepted = {
        "width": [None, 3],
        "depth": [4],
        "corners": [[{"x": [1, 2], "y": ["", 0]}, {"x": [5]}]],
        "floor": [{"name": ["", "ground"], "colour": ["", "red"], "plan": [{"x": [1]}], "tiles": [["a", "b"]]}, "any"],
    }
    arguments, err = gold(capfdbinary, tmp_path, accepted)
    assert arguments == {
        "width": None,
        "depth": 4,
        "corners": [{"x": 1}, {"x": 5}],
        "floor": {"name": "ground", "plan": {"x": [1]}, "tiles": ["a", "b"]},
    }
    assert '1 x gold: "" comes first for a required argument' in err


def test_odd_accepted_values_are_counted(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    accepted = {"width": [""], "depth": [], "unit": "m²", "height": [1]}
    arguments, err = gold(capfdbinary, tmp_path, accepted)
    assert arguments == {"width": "", "unit": "m²", "height": 1}
    notes = [line for line in err.split("\n") if line.startswith("note: ")]
    assert [note.split(" (first: ")[0] for note in notes] == [
        'note: 1 x gold: "" comes first for a required argument; the next value, if any, is taken',
        "note: 1 x gold: no value is accepted; argument left out",
        "note: 1 x gold: a value where a list of accepted values belongs; taken as the only one",
        "note: 1 x gold passes an argument that the schema lacks; kept",
        "note: 1 x gold leaves out a required argument; kept",
    ]
    assert notes[0].endswith("possible_answer/BFCL_v4_rooms.json:1)")
    assert notes[4].endswith("BFCL_v4_rooms.json:1)")


def test_malformed_bfcl_rows_are_mended_by_rule_and_counted(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    turn = question()["question"][0]
    schemaless = {"name": "noop", "description": "", "parameters": {"type": "dict", "properties": ["a"]}}
    rows = [
        question(question=[turn, turn]),
        question(function=[AREA, {**AREA, "description": "again"}, schemaless]),
        question(id="unanswered", function=[]),
    ]
    source = bfcl(tmp_path, rows, [answer({"width": [3], "depth": [4]}, ground_truth=[{"none": {}}, {"none": {}}])])
    requests, err = made(capfdbinary, "bfcl", source)
    assert [request["id"] for request in requests] == ["rooms_0", "rooms_0-2", "unanswered"]
    assert [len(request["messages"]) for request in requests] == [1, 1, 1]
    assert [tool["function"]["name"] for tool in requests[1]["tools"]] == ["geometry.area", "noop"]
    assert requests[1]["tools"][0]["function"] == AREA
    assert ["gold" in request for request in requests] == [True, True, False]
    for note in (
        f"1 x later turns left out; a request is the first turn (first: {source}:1)",
        f"1 x tool listed twice; the first is kept (first: {source}:2)",
        f"1 x id used twice; a number is appended (first: {source}:2)",
        f"1 x row without accepted answers; no gold (first: {source}:3)",
        f"4 x gold calls a tool that the row does not list; kept (first: {source}:1)",
    ):
        assert f"note: {note}\n" in err


def test_without_answers_there_is_no_gold_and_for_irrelevance_gold_is_no_call(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    (request,), err = made(capfdbinary, "bfcl", bfcl(tmp_path, [question()]))
    assert "gold" not in request
    assert "note: 1 x no file of accepted answers in possible_answer/; requests have no gold" in err
    source = bfcl(tmp_path, [question()], name="BFCL_v4_live_irrelevance.json")
    (request,), err = made(capfdbinary, "bfcl", source)
    assert request["gold"] == []
    assert "note" not in err


def test_a_category_of_a_directory(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    bfcl(tmp_path, [question(id="one")], name="BFCL_v4_multiple.jsonl")
    bfcl(tmp_path, [question(id="two")], name="BFCL_v3_live_multiple.jsonl.gz")
    (request,), _ = made(capfdbinary, "bfcl", tmp_path, "--category", "multiple")
    assert request["id"] == "one"


def test_a_category_must_be_named_and_be_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert refused(capsys, "bfcl", tmp_path) == f"{tmp_path}: no .json or .jsonl file in this directory"
    source = bfcl(tmp_path, [question()], name="BFCL_v4_multiple.jsonl")
    bfcl(tmp_path, [question()], name="BFCL_v3_simple.json")
    choose = f"{tmp_path}: a directory; choose a file of it with --category: multiple, simple"
    assert refused(capsys, "bfcl", tmp_path) == choose
    there_are = f"{tmp_path}: no category 'none'; there are multiple, simple"
    assert refused(capsys, "bfcl", tmp_path, "--category", "none") == there_are
    bfcl(tmp_path, [question()], name="BFCL_v4_simple.json")
    assert "is in several files" in refused(capsys, "bfcl", tmp_path, "--category", "simple")
    assert refused(capsys, "bfcl", source, "--category", "simple").startswith(f"{source}: --category chooses")


def test_an_api_bank_row_keeps_its_text_and_names_its_tools(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    rest = "Rest\nDescription: Wait.\n2. It is no tool.\nParameters: {}"
    row = dialogue(WATER, rest)
    (tmp_path / "level-1.jsonl").write_bytes(lines(row))
    (request,), err = made(capfdbinary, "api-bank", tmp_path / "level-1.jsonl", "--max-new-tokens", 96)
    first, second = (tool["function"] for tool in request.pop("tools"))
    assert first["description"] == "Water the plants."
    schema = {"type": "object", "properties": {"litres": {"type": "int", "description": "The can's"}}}
    assert first["parameters"] == schema
    assert second["description"] == "Wait.\n2. It is no tool."
    assert second["parameters"] == {"type": "object", "properties": {}}
    assert request == {
        "id": "Water-level-1-1-3",
        "messages": [{"role": "system", "content": row["system"]}, {"role": "user", "content": row["user"]}],
        "tools_in_prompt": True,
        "gold": [{"name": "Water", "arguments": {"litres": "2"}}],
        "max_new_tokens": 96,
    }
    assert "note" not in err


def test_an_api_bank_answer_is_a_call_or_a_list_of_calls(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    call = {"name": "Rest", "parameters": {"minutes": "5"}}
    unanswered = {key: value for key, value in dialogue(WATER, other=None).items() if key != "answer"}
    (tmp_path / "level-2.jsonl").write_bytes(lines(dialogue(WATER, answer=call), unanswered))
    (first, second), err = made(capfdbinary, "api-bank", tmp_path / "level-2.jsonl")
    assert first["gold"] == [{"name": "Rest", "arguments": {"minutes": "5"}}]
    assert second["id"] == "level-2-2"
    assert "gold" not in second
    assert "1 x gold calls a tool that the row does not list; kept" in err
    assert "1 x row without an answer; no gold" in err


@pytest.mark.parametrize(
    "block",
    [
        "{'litres': int}",
        "__import__('os').abort()",
        "{'litres': {'type': 'int'}",
        "[1, 2]",
        "{'litres': {1, 2}}",
        "{'litres': b'2'}",
        "{'litres': 1e999}",
        "{('a', 'b'): 1}",
        "(" * 5000,
        "",
    ],
)
def test_a_parameter_block_that_is_no_dict_literal_is_no_parameters(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes], block: str
) -> None:
    row = dialogue(f"Water\nDescription: Water the plants.\nParameters: {block}")
    (tmp_path / "level-1.jsonl").write_bytes(lines(row))
    (request,), err = made(capfdbinary, "api-bank", tmp_path / "level-1.jsonl")
    function = request["tools"][0]["function"]
    assert (function["description"], function["parameters"]["properties"]) == ("Water the plants.", {})
    assert "1 x parameters that are no Python dict literal; tool kept without parameters" in err


def test_a_backslash_in_a_literal_is_no_warning(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    row = dialogue("Water\nDescription:\nParameters: {'litres': {'type': 'str', 'pattern': '\\d+'}}")
    (tmp_path / "level-1.jsonl").write_bytes(lines(row))
    (request,), _ = made(capfdbinary, "api-bank", tmp_path / "level-1.jsonl")
    assert request["tools"][0]["function"]["parameters"]["properties"]["litres"]["pattern"] == "\\d+"


ROWS = [question(id=f"rooms_{n}") for n in range(3)]


@pytest.mark.parametrize(
    "data",
    [
        lines(*ROWS),
        lines(*ROWS).replace(b"\n", b"\r\n\r\n"),
        b"\xef\xbb\xbf" + lines(*ROWS).rstrip(b"\n"),
        gzip.compress(lines(*ROWS)),
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


@pytest.mark.parametrize(
    ("format_name", "data", "expected"),
    [
        ("bfcl", b"", ": no rows in this file"),
        ("bfcl", b"[]", ": no rows in this file"),
        (
            "bfcl",
            lines(question()) + b"{\n",
            ":2: not JSON (Expecting property name enclosed in double quotes at column",
        ),
        (
            "bfcl",
            b'[{"id": 1},\n{]',
            ": not JSON (Expecting property name enclosed in double quotes at line 2, column 2)",
        ),
        ("bfcl", lines([1]), ": row 1: a row is a JSON object, not int"),
        ("bfcl", lines("text"), ":1: a row is a JSON object, not str"),
        ("bfcl", lines({"id": "a"}), ":1: question: missing; the row has 'id'"),
        ("bfcl", lines({}), ":1: question: missing; the row has no fields"),
        ("bfcl", lines(question(question="Hi")), ":1: question: a list is expected, not str"),
        ("bfcl", lines(question(question=[])), ":1: question: a list of turns is expected"),
        ("bfcl", lines(question(question=[{}])), ":1: question: a list of turns is expected"),
        ("bfcl", lines(question(question=[[]])), ":1: messages: should not be empty"),
        ("bfcl", lines(question(question=[[{"role": "x"}]])), ":1: messages.0.role: Input should be"),
        ("bfcl", lines(question(), question(function={})), ":2: function: a list is expected, not dict"),
        ("bfcl", lines(question(function=["f"])), ":1: tools.0"),
        ("bfcl", lines(question(function=[{"description": "d"}])), ":1: tools.0.name: missing"),
        ("bfcl", lines(question(id=3)), ":1: id: text is expected, not int"),
        ("bfcl", b"\xff", ": not UTF-8 at byte 0"),
        ("bfcl", gzip.compress(lines(question()))[:-12], ": damaged gzip; fetch the file again"),
        ("bfcl", b"\x1f\x8b no gzip", ": damaged gzip; fetch the file again"),
        ("api-bank", lines(question()), ":1: system: missing; the row has 'id', 'question', 'function'"),
        ("api-bank", lines({"system": "No tools.", "user": "Hi"}), ":1: system: no tools, as '1. Name: …'"),
        ("api-bank", lines(dialogue("")), ":1: tools.0.name: String should have at least 1 character"),
        ("api-bank", lines(dialogue("Water\nNo description.")), ":1: system: a tool is 'Name', 'Description' and"),
        ("api-bank", lines(dialogue(WATER, user=None)), ":1: user: text is expected, not NoneType"),
        ("api-bank", lines(dialogue(WATER, answer="Water()")), ":1: answer: a call is an object, not str"),
        (
            "api-bank",
            lines(dialogue(WATER, answer={"name": "a"})),
            ":1: answer: parameters: missing; the row has 'name'",
        ),
    ],
)
def test_bad_rows_are_refused_by_file_line_and_field(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], format_name: str, data: bytes, expected: str
) -> None:
    source, out = tmp_path / "rows.jsonl", tmp_path / "out.jsonl"
    source.write_bytes(data)
    out.write_text("as before")
    assert refused(capsys, format_name, source, "--out", out).startswith(f"{source}{expected}")
    assert out.read_text() == "as before"


@pytest.mark.parametrize(
    ("ground_truth", "expected"),
    [
        (None, "ground_truth: a list is expected, not NoneType"),
        (["f()"], "ground_truth: calls are objects, not str"),
        ([{"f": ["a"]}], "ground_truth: f: an object is expected, not list"),
    ],
)
def test_bad_answers_are_refused_by_their_own_file_and_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], ground_truth: Any, expected: str
) -> None:
    source = bfcl(tmp_path, [question()], [{"id": "rooms_0", "ground_truth": ground_truth}])
    message = refused(capsys, "bfcl", source)
    assert message == f"{tmp_path / 'possible_answer' / source.name}:1: {expected}"


def test_bad_arguments_are_one_line_each(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing, source = tmp_path / "none.jsonl", bfcl(tmp_path, [question()])
    assert refused(capsys, "bfcl", missing) == f"{missing}: cannot read rows: No such file or directory"
    assert "'csv' is not one of 'api-bank', " in refused(capsys, "csv", source)
    assert "FORMAT" in refused(capsys)
    assert "SOURCE" in refused(capsys, "bfcl")
    assert "--limit" in refused(capsys, "bfcl", source, "--limit", 0)
    assert "--max-new-tokens" in refused(capsys, "bfcl", source, "--max-new-tokens", "many")
    none, itself = tmp_path / "none", "is no regular file; name another"
    for out, reason in (
        (none / "out.jsonl", f"there is no folder {none}; make it first"),
        (source / "out.jsonl", f"there is no folder {source}; make it first"),
        (tmp_path, itself),
        (Path(os.devnull), itself),
    ):
        assert refused(capsys, "bfcl", source, "--out", out) == f"--out {out}: {reason}"


def test_what_is_read_is_not_written_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = bfcl(tmp_path, [question()], [answer({"width": [3], "depth": [4]})])
    for path in (source, tmp_path / "possible_answer" / source.name):
        before = path.read_bytes()
        assert refused(capsys, "bfcl", source, "--out", path).startswith(f"--out {path}: is read or written already")
        assert path.read_bytes() == before


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
    command = [sys.executable, str(SCRIPT), "bfcl", str(source)]
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
