"""Names in other styles, the same everywhere in a request."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.training import asking, call, function, read_back, write_rows
from oospec_async.training.data.decontaminate import function_of, name_key
from oospec_async.training.data.splits import split_of
from oospec_async.training.data.vary import FUNCTION_STYLES, vary, vary_file

ROW = asking(
    "a",
    function("getSkiReport", "resort_name", "maxDays", required=("resort_name",)),
    function("math.hypot", "x"),
    function("Ünïcode", "größe"),
    gold=[call("getSkiReport", resort_name="Are", maxDays=3), call("math.hypot", x=1), call("elsewhere", x=1)],
)


@given(st.integers(0, 10_000))
def test_tools_and_gold_agree_and_meaning_stays(seed: int) -> None:
    made = vary(ROW, seed)
    tools = [function_of(tool) for tool in made["tools"]]
    before = [function_of(tool) for tool in ROW["tools"]]
    assert [tool["description"] for tool in tools] == [tool["description"] for tool in before]
    assert made["gold"][2] == ROW["gold"][2]
    for old, new in zip(before, tools, strict=True):
        assert name_key(new["name"].rsplit(".", 1)[-1]) == name_key(old["name"].rsplit(".", 1)[-1])
        assert split_of(new["name"]) == split_of(old["name"])
        assert list(map(name_key, new["parameters"]["properties"])) == list(
            map(name_key, old["parameters"]["properties"])
        )
        assert set(new["parameters"]["required"]) <= set(new["parameters"]["properties"])
    assert [each["name"] for each in made["gold"][:2]] == [tool["name"] for tool in tools[:2]]
    assert set(made["gold"][0]["arguments"]) == set(tools[0]["parameters"]["properties"])
    assert list(made["gold"][0]["arguments"].values()) == ["Are", 3]
    assert tools[2] == before[2]  # letters that no style keeps
    assert made == vary(ROW, seed)


def test_every_style_is_drawn() -> None:
    names = {function_of(vary(ROW, seed)["tools"][0])["name"] for seed in range(300)}
    assert {"getSkiReport", "get_ski_report", "GetSkiReport", "ski.get_ski_report", "report.getSkiReport"} <= names
    dotted = {function_of(vary(ROW, seed)["tools"][1])["name"] for seed in range(100)}
    assert dotted == {"math.hypot", "math.Hypot"}
    assert len(FUNCTION_STYLES) == 5


def test_names_that_would_clash_keep_their_form() -> None:
    row = asking("a", function("get_a", "p_q", "pQ"), function("getA"), gold=[call("get_a", p_q=1, pQ=2)])
    for seed in range(100):
        made = vary(row, seed)
        tools = [function_of(tool) for tool in made["tools"]]
        assert len({tool["name"] for tool in tools}) == 2
        assert list(made["gold"][0]["arguments"].values()) == [1, 2]
        assert len(tools[0]["parameters"]["properties"]) == 2


@pytest.mark.parametrize(
    "change",
    [
        {"tools_in_prompt": True},
        {"split": "eval"},
        {"messages": [{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]}]},
    ],
)
def test_what_names_tools_in_its_text_and_evaluation_rows_stay_as_they_are(change: dict[str, object]) -> None:
    row = {**ROW, **change}
    assert all(vary(row, seed) == row for seed in range(30))


def test_the_stage_counts_what_it_changed(tmp_path: Path) -> None:
    source = write_rows(tmp_path / "in.jsonl", *({**ROW, "id": str(n)} for n in range(20)))
    said = vary_file(source, 3, tmp_path / "out.jsonl")
    made = read_back(tmp_path / "out.jsonl")
    changed = sum(row != {**ROW, "id": row["id"]} for row in made)
    assert said == [f"{changed} of 20 requests have other names"]
    assert 0 < changed < 20
