"""Questions and answers of a request, and whose calls they are made of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.command import names_in
from helpers.training import asking, call, counted, function, read_back, write_rows
from oospec_async.errors import OospecError
from oospec_async.request import parse_request
from oospec_async.sidecar.answers import read_answer
from oospec_async.training.data.rows import questions, rows_file, valid
from oospec_async.training.data.splits import common_split, split_of
from oospec_async.training.notes import Notes
from oospec_async.training.records import Call
from oospec_async.training.teach.teacher import asked

WATER, MOW = names_in("train", 2)
(HELD,), (DEV,) = names_in("heldout", 1), names_in("dev", 1)
TOOLS = (
    function(WATER, "litres", "bed", required=("litres",), litres={"type": "integer"}),
    function(MOW, "height", height={"type": "integer"}),
)


def made_call(name: str, **arguments: Any) -> Call:
    return Call(name=name, arguments=arguments)


def table(row: dict[str, Any], *calls: Call) -> list[tuple[str, str, bool]]:
    made = questions(parse_request(row, "here"), calls, "here", Notes())
    return [(f"{each.stem}{each.ask}", each.answer, each.chosen) for each in made]


def test_every_function_choice_and_every_argument_is_a_row() -> None:
    assert table(asking("a", *TOOLS), made_call(WATER, litres=2)) == [
        ("call 1 =", f" {WATER}\n", True),
        ("call 2 =", " none\n", True),
        (f"{WATER}: litres =", " 2\n", True),
        (f"{WATER}: bed =", " null\n", True),
        (f"{MOW}: height =", " null\n", False),
        ("all =", f' [{{"name": "{WATER}", "arguments": {{"litres": 2}}}}]\n', True),
    ]


def test_a_function_that_is_called_twice_has_rows_for_each_call() -> None:
    rows = table(asking("a", *TOOLS), made_call(WATER, litres=2), made_call(MOW), made_call(WATER, litres=3, bed="ø"))
    assert [row[:2] for row in rows[:4]] == [
        ("call 1 =", f" {WATER}\n"), ("call 2 =", f" {MOW}\n"), ("call 3 =", f" {WATER}\n"), ("call 4 =", " none\n"),
    ]  # fmt: skip
    assert [row[:2] for row in rows[4:9]] == [
        (f"{WATER}: litres =", " 2\n"), (f"{WATER}: bed =", " null\n"),
        (f"{WATER} (2): litres =", " 3\n"), (f"{WATER} (2): bed =", ' "ø"\n'), (f"{MOW}: height =", " null\n"),
    ]  # fmt: skip
    assert all(chosen for _, _, chosen in rows)


def test_another_calls_result_is_no_answer_and_is_counted() -> None:
    notes = Notes()
    calls = [made_call(WATER, litres="API_call_1", bed={"deep": ["at API_call_2"]}, odd=1)]
    made = list(questions(parse_request(asking("a", *TOOLS), "here"), calls, "here", notes))
    assert [row.kind for row in made] == ["function", "function", "argument"]
    assert counted(notes) == {
        "argument that is another call's result; no row for it": 2,
        "call with another call's result; no row for the whole answer": 1,
        "argument that the schema lacks; no row for it": 1,
    }


JSON = st.recursive(
    st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


@given(JSON)
def test_an_answer_is_read_back_as_the_value(value: Any) -> None:
    if "API_call" in str(value) or "${" in str(value):
        return
    row = asking("a", function("f", "x", x={}))
    request = parse_request(row, "here")
    answer = next(
        each.answer for each in questions(request, [made_call("f", x=value)], "", Notes()) if each.kind == "argument"
    )
    read = read_answer(answer, request.tools[0].slots[0])
    assert read is not None
    assert read.value == value


REQUEST = parse_request(asking("a", *TOOLS), "here")


@pytest.mark.parametrize(
    ("calls", "gold", "expected"),
    [
        ([call(WATER, litres=1)], [made_call(WATER)], True),
        ([call(WATER, litres=1)], None, True),
        ([call(WATER, litres=1), call(MOW)], [made_call(WATER), made_call(MOW)], True),
        ([call(MOW), call(WATER, litres=1)], [made_call(WATER), made_call(MOW)], False),
        ([call(WATER, litres=1)], [made_call(MOW)], False),
        ([call(WATER)], [made_call(WATER)], False),
        ([call(WATER, litres=1, odd=2)], [made_call(WATER)], False),
        ([call("gone", litres=1)], None, False),
        ([{"name": WATER, "arguments": "text"}], None, False),
        ([{"name": WATER}], None, False),
        ([], [made_call(WATER)], False),
        ([], [], True),
        ([call(MOW)], [], False),
        ([], None, False),
        (None, None, False),
        (["x"], None, False),
    ],
)
def test_a_teachers_calls_are_valid_where_names_and_arguments_are(calls: Any, gold: Any, expected: bool) -> None:
    assert (valid(calls, REQUEST, gold) is not None) == expected


def reply(row: dict[str, Any], *calls: dict[str, Any]) -> dict[str, Any]:
    return {"id": row["id"], "asked": asked(parse_request(row, "here")), "calls": list(calls)}


def run(tmp_path: Path, requests: list[Any], calls: list[Any]) -> tuple[list[dict[str, Any]], list[str]]:
    asking_, answering = (
        write_rows(tmp_path / "requests.jsonl", *requests),
        write_rows(tmp_path / "calls.jsonl", *calls),
    )
    said = rows_file([asking_], [answering] if calls else [], [], tmp_path / "rows.jsonl")
    return read_back(tmp_path / "rows.jsonl"), said


def test_the_teacher_goes_before_gold_and_each_is_counted(tmp_path: Path) -> None:
    gold = [call(WATER, litres=1)]
    rows = [asking(text, *TOOLS, gold=gold) for text in ("valid", "invalid", "silent", "stale")]
    rows.append(asking("lost", *TOOLS))
    made, said = run(tmp_path, rows, [
        reply(rows[0], call(WATER, litres=7)), reply(rows[1], call(MOW)), reply(rows[4], call("gone")),
        reply(rows[3], call(WATER, litres=7)) | {"asked": "another request"},
    ])  # fmt: skip
    litres = [next(r["answer"] for r in line["rows"] if "litres" in r["ask"]) for line in made]
    assert litres == [" 7\n", " 1\n", " 1\n", " 1\n"]
    assert [line["teacher"] for line in made] == [True, False, False, False]
    assert all("gold" not in line["request"] for line in made)
    counted = [text.split(" (first")[0].removeprefix("note: ") for text in said if text.startswith("note: ")]
    assert counted == [
        "1 x calls of the teacher; taken",
        "1 x teacher's calls that are not valid; gold taken",
        "2 x no teacher's calls; gold taken",
        "1 x teacher's calls that are not valid, and no gold; request left out",
    ]


def test_no_function_is_in_two_splits(tmp_path: Path) -> None:
    rows = [
        asking("train", function(WATER), function(HELD), gold=[call(WATER)]),
        asking("held", function(WATER), function(HELD), gold=[call(HELD)]),
        asking("dev", function(DEV), gold=[call(DEV)]),
        asking("both", function(WATER), function(HELD), gold=[call(WATER), call(HELD)]),
        asking("gone", function(WATER), gold=[call(HELD)]),
        asking("none", function(HELD), gold=[]),
        asking("eval", function(WATER), function(HELD), gold=[call(WATER), call(HELD)], split="eval"),
    ]
    made, said = run(tmp_path, rows, [])
    assert [(line["id"], line["split"]) for line in made] == [
        ("id-train", "train"), ("id-held", "heldout"), ("id-dev", "dev"), ("id-none", "heldout"), ("id-eval", "eval"),
    ]  # fmt: skip
    assert [[t["function"]["name"] for t in line["request"]["tools"]] for line in made[:2]] == [[WATER], [HELD]]
    assert len(made[4]["request"]["tools"]) == 2
    assert [row["answer"] for row in made[3]["rows"] if row["kind"] == "function"] == [" none\n"]
    assert any(text.startswith("note: 2 x function of another split on offer; removed") for text in said)
    assert any(text.startswith("note: 1 x functions of several splits; request left out") for text in said)


@given(st.text(min_size=1, max_size=20))
def test_a_split_is_of_the_name_without_style_and_module(name: str) -> None:
    last = name.rsplit(".", 1)[-1] or name
    assert split_of(f"module.{last}") == split_of(last)
    assert common_split([name, name]) == split_of(name)


def test_splits_have_their_shares() -> None:
    found = [split_of(f"function{n}") for n in range(4000)]
    assert abs(found.count("heldout") / 4000 - 0.10) < 0.02
    assert abs(found.count("dev") / 4000 - 0.05) < 0.015


def test_bad_input_is_one_line_that_names_the_place(tmp_path: Path) -> None:
    with pytest.raises(OospecError, match=r"requests.jsonl:1: gold.0.name: missing"):
        run(tmp_path, [asking("a", *TOOLS, gold=[{}])], [])
    with pytest.raises(OospecError, match=r"calls.jsonl:1: asked: missing"):
        run(tmp_path, [asking("a", *TOOLS)], [{"id": "a", "calls": []}])
