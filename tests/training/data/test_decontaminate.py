"""Nothing that an evaluation set holds may be in training."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.training import asking, call, counted, function, read_back, write_rows
from oospec_async.errors import OospecError
from oospec_async.training.data.decontaminate import (
    Cleaner,
    Evaluation,
    function_of,
    functions,
    name_keys,
    prompt_key,
    prompts,
)
from oospec_async.training.data.rows import rows_file
from oospec_async.training.data.sources import sources_file
from oospec_async.training.notes import Notes

EVALUATED = [
    asking(
        "What's the weather in Oslo?", function("weather.get_forecast", "city"), gold=[call("weather.get_forecast")]
    ),
    asking("Add 1 and 2", function("addNumbers", "a"), gold=[call("Not_Listed")]),
]


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("weather.get_forecast", True),
        ("getForecast", True),
        ("GET-FORECAST", True),
        ("other.Get_Forecast", True),
        ("WeatherGetForecast", True),
        ("add_numbers", True),
        ("notlisted", True),
        ("get_forecasts", False),
        ("forecast", False),
        ("weather", False),
    ],
)
def test_a_function_is_known_by_its_name_without_case_punctuation_and_module(name: str, known: bool) -> None:
    assert Evaluation.of(EVALUATED).has_name(name) == known


@given(st.text(min_size=1, max_size=12))
def test_names_that_are_all_punctuation_are_names_still(name: str) -> None:
    assert "" not in name_keys(name)


def test_prompts_are_compared_without_case_punctuation_and_spacing() -> None:
    known = Evaluation.of(EVALUATED)
    assert known.has_prompt(asking("whats the   WEATHER in Oslo", function("f"))) is False
    assert known.has_prompt(asking("what s the   WEATHER, in Oslo", function("f"))) is True
    assert prompt_key("?!") == ""
    assert Evaluation.of([asking("?!")]).prompts == set()


HISTORY = [
    {"role": "user", "content": "Go on"},
    {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "add_numbers", "arguments": "{}"}}]},
    {"role": "tool", "content": "3"},
]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (asking("ADD 1, and 2!", function("f"), gold=[]), "prompt of an evaluation set"),
        (asking("a", function("getForecast"), gold=[call("getForecast")]), "calls a function of an evaluation set"),
        (asking("a", function("f"), gold=[call("notListed")]), "calls a function of an evaluation set"),
        (asking("a", function("f"), messages=HISTORY), "function of an evaluation set in its history"),
        (
            asking("a", function("f"), function("addNumbers"), tools_in_prompt=True),
            "function of an evaluation set in its text",
        ),
        (asking("a", function("addNumbers")), "only functions of an evaluation set on offer"),
    ],
)
def test_what_collides_is_removed_and_counted(row: dict[str, Any], reason: str) -> None:
    notes = Notes()
    assert Cleaner(Evaluation.of(EVALUATED), notes).cleaned(row, "here") is None
    assert counted(notes) == {f"{reason}; request removed": 1}


def test_a_function_that_is_only_on_offer_is_taken_from_the_offer() -> None:
    notes = Notes()
    cleaner = Cleaner(Evaluation.of(EVALUATED), notes)
    row = asking("a", function("f"), function("x.add_numbers"), gold=[call("f")], accepted=[])
    made = cleaner.cleaned(row, "here")
    assert made == {key: value for key, value in row.items() if key != "accepted"} | {"tools": [function("f")]}
    assert cleaner.removed == {"x.add_numbers"}
    assert cleaner.cleaned(row, "there") is None
    assert counted(notes)["the same request again; removed"] == 1


NAMES = st.sampled_from(["get_forecast", "weather.getForecast", "f", "g", "add_numbers", "a.b", "Not-Listed", "h"])


@given(
    st.lists(st.tuples(st.sampled_from(["hello", "add 1 AND 2", "bye"]), st.sets(NAMES, min_size=1), NAMES), max_size=8)
)
def test_after_cleaning_nothing_overlaps(rows: list[tuple[str, set[str], str]]) -> None:
    known = Evaluation.of(EVALUATED)
    cleaner = Cleaner(known, Notes())
    for text, offered, called in rows:
        made = cleaner.cleaned(asking(text, *map(function, sorted(offered)), gold=[call(called)]), "here")
        if made is not None:
            assert known.prompts.isdisjoint(prompts(made))
            for name in functions(made):
                assert known.names.isdisjoint(name_keys(name))


def test_the_stage_removes_tells_and_records_it(tmp_path: Path) -> None:
    train = write_rows(
        tmp_path / "train.jsonl",
        asking("a", function("f"), function("addNumbers"), gold=[call("f")]),
        asking("b", function("getForecast"), gold=[call("getForecast")]),
        asking("c", function("f"), gold=[call("f")], id="id-Add 1 and 2"),
    )
    evaluation = write_rows(tmp_path / "eval.jsonl", *EVALUATED)
    out = tmp_path / "out.jsonl"
    said = sources_file([f"openai:{train}"], [f"openai:{evaluation}"], out)
    rows = read_back(out)
    assert [(row["id"], row["source"], row.get("split")) for row in rows] == [
        ("id-a", "openai/train", None),
        ("id-Add 1 and 2", "openai/train", None),
        ("id-What's the weather in Oslo?", "openai/eval", "eval"),
        ("id-Add 1 and 2-2", "openai/eval", "eval"),
    ]
    assert ["accepted" in row for row in rows] == [False, False, True, True]
    assert [function_of(tool)["name"] for tool in rows[0]["tools"]] == ["f"]
    assert said[-1] == "2 functions of training sets are in an evaluation set: addNumbers, getForecast"
    manifest = json.loads((tmp_path / "out.jsonl.manifest.json").read_text())
    assert manifest["counts"]["functions removed for an evaluation set"] == ["addNumbers", "getForecast"]
    assert [Path(source["path"]).name for source in manifest["sources"]] == ["train.jsonl", "eval.jsonl"]
    assert {"calls a function of an evaluation set; request removed"} <= {rule["rule"] for rule in manifest["rules"]}


def test_rows_are_checked_again_however_their_requests_were_made(tmp_path: Path) -> None:
    requests = write_rows(tmp_path / "requests.jsonl", asking("a", function("add_numbers"), gold=[call("add_numbers")]))
    evaluation = write_rows(tmp_path / "eval.jsonl", *EVALUATED)
    rows_file([requests], [], [f"openai:{evaluation}"], tmp_path / "rows.jsonl")
    assert read_back(tmp_path / "rows.jsonl") == []


@pytest.mark.parametrize("text", ["openai", "nothing:x", "openai:", "/path"])
def test_a_source_is_a_format_and_a_path(tmp_path: Path, text: str) -> None:
    with pytest.raises(OospecError, match="FORMAT:PATH is expected, with one of api-bank, "):
        sources_file([text], [], tmp_path / "out.jsonl")
