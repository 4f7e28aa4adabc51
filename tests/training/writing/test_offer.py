"""Synthesised messages to requests: distractors, pairs, splits, and no change when the file grows."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from helpers.training import asking, function, read_back, seal_tools, write_rows
from oospec_async.errors import OospecError
from oospec_async.training.data.decontaminate import Evaluation, function_of
from oospec_async.training.data.splits import split_of
from oospec_async.training.data.writing.offer import Shelf, Written, joined, offer_file, offered
from oospec_async.training.data.writing.seal_pool import SealPool, SealTool


def tool(name: str, field: str) -> SealTool:
    properties = {"n": {"type": "integer", "description": "n"}}
    parameters = {"type": "object", "properties": properties, "required": ["n"]}
    return SealTool({"name": name, "description": name, "parameters": parameters}, field)


POOL = SealPool([tool(f"tool{n}", f"area{n % 3}/part") for n in range(300)], {})
SHELF = Shelf(POOL, Evaluation())


def written(name: str, number: int = 0, area: str = "area0/part") -> Written:
    function = tool(name, area).function
    return Written(text=f"Do {name} {number}", field=area, function=function, values=[{"n": number}], ok=True)


@pytest.mark.parametrize("seed", range(30))
def test_one_to_five_functions_of_one_split_are_on_offer(seed: int) -> None:
    meant = written(f"meant{seed}", seed)
    row = offered([meant], SHELF, seed)
    names = [function_of(each)["name"] for each in row["tools"]]
    assert meant.function["name"] in names
    assert 1 <= len(names) == len(set(names)) <= 5
    assert len({split_of(name) for name in names}) == 1
    assert row["gold"] == [{"name": meant.function["name"], "arguments": {"n": seed}}]
    assert row == offered([meant], SHELF, seed)


def test_half_of_the_distractors_are_of_the_same_area_and_some_are_widened() -> None:
    rows = [offered([written(f"meant{n}", n)], SHELF, 0) for n in range(300)]
    others = [function_of(t) for row in rows for t in row["tools"] if not function_of(t)["name"].startswith("meant")]
    near = [other for other in others if int(other["name"][4:]) % 3 == 0]
    assert 0.55 < len(near) / len(others) < 0.78  # 1/2 + 1/2 of a third
    assert any(len(other["parameters"]["properties"]) > 1 for other in others)
    assert any(other["parameters"]["properties"]["n"]["type"] == "array" for other in others)
    assert {len(row["tools"]) for row in rows} == {1, 2, 3, 4, 5}
    places = {[function_of(t)["name"] for t in row["tools"]].index(row["gold"][0]["name"]) for row in rows}
    assert places == {0, 1, 2, 3, 4}


def test_functions_of_an_evaluation_set_are_not_on_the_shelf() -> None:
    shelf = Shelf(POOL, Evaluation(names={"tool7"}))
    assert shelf.removed == ["tool7"]
    assert len(shelf) == 299
    rng = random.Random(0)
    drawn = {other["name"] for n in range(200) for other in shelf.distractors([written(f"m{n}")], 4, rng)}
    assert "tool7" not in drawn


def test_the_id_is_of_the_content() -> None:
    one, other = offered([written("a")], SHELF, 0), offered([written("a")], SHELF, 1)
    assert one["id"] == other["id"] != offered([written("a", 1)], SHELF, 0)["id"]


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["Water it", "Find a song"], "Water it. Also, find a song"),
        (["Water it?", "What's on?"], "Water it? Also, what's on?"),
        (["Water it.", "Paris weather?"], "Water it. Also, Paris weather?"),
        (["Water it.", "I want tea"], "Water it. Also, I want tea"),
        (["Water it.", "Canada's capital?"], "Water it. Also, Canada's capital?"),
        (["Water it."], "Water it."),
    ],
)
def test_messages_are_joined_to_one(texts: list[str], expected: str) -> None:
    assert joined(texts) == expected


def line(number: int, **more: Any) -> dict[str, Any]:
    made = written(f"meant{number % 40}", number)
    return {
        "ok": True,
        "text": made.text,
        "field": made.field,
        "function": made.function,
        "values": made.values,
        **more,
    }


def test_more_messages_change_no_request(tmp_path: Path) -> None:
    seal_tools(tmp_path)
    lines = [line(number) for number in range(120)]
    few, many = write_rows(tmp_path / "few.jsonl", *lines[:60]), write_rows(tmp_path / "many.jsonl", *lines)
    many.write_text(many.read_text() + '{"ok": true, "text": "cut o')
    offer_file([few], tmp_path, [], 5, tmp_path / "few.out")
    offer_file([many], tmp_path, [], 5, tmp_path / "many.out")
    before, after = read_back(tmp_path / "few.out"), read_back(tmp_path / "many.out")
    assert after[: len(before)] == before
    pairs = [row for row in after if len({each["name"] for each in row["gold"]}) == 2]
    assert 5 < len(pairs) < 25
    assert all(" Also, " in row["messages"][0]["content"] for row in pairs)
    assert all(len({split_of(each["name"]) for each in row["gold"]}) == 1 for row in pairs)


def test_what_must_not_be_trained_on_is_left_out_and_counted(tmp_path: Path) -> None:
    seal_tools(tmp_path)
    evaluation = write_rows(tmp_path / "eval.jsonl", asking("Do it, now", function("meant_1")))
    rows = [line(0, ok=False), line(1), line(2, text="do it now"), line(3, text="Do that"), line(4, text="do THAT!")]
    source = write_rows(tmp_path / "messages.jsonl", *rows)
    offer_file([source], tmp_path, [f"openai:{evaluation}"], 1, tmp_path / "out.jsonl")
    manifest = json.loads((tmp_path / "out.jsonl.manifest.json").read_text())
    counted = {rule["rule"]: rule["count"] for rule in manifest["rules"]}
    assert counted == {
        "message that does not say every value; removed": 1,
        "function of an evaluation set; message removed": 1,
        "prompt of an evaluation set; message removed": 1,
        "message written before; removed": 1,
    }


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    seal_tools(tmp_path)
    source = write_rows(tmp_path / "messages.jsonl", {"ok": True, "text": "x"})
    with pytest.raises(OospecError, match=r"messages.jsonl:1: field: missing"):
        offer_file([source], tmp_path, [], 0, tmp_path / "out.jsonl")
