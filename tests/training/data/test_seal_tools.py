"""Seal-Tools: typed values, other calls' results, functions on offer, and the fine-tuning files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from helpers.training import SEAL, call, requests_of, seal_tools, write_rows
from oospec_async.errors import OospecError
from oospec_async.training.data.sources import sources_file
from oospec_async.training.data.writing.seal_pool import read_pool
from oospec_async.training.manifest import manifest_path


def row(*calls: dict[str, Any], **more: Any) -> dict[str, Any]:
    calling = [{"api": each["name"], "parameters": each["arguments"], "responses": []} for each in calls]
    return {"id": "dev-1", "query": "Water\\nthe \\'roses\\'", "calling": calling, **more}


def finetune(*calls: dict[str, Any], tools: Any = SEAL[:5]) -> dict[str, Any]:
    asked = row(*calls)
    prompt = f'Choose.\n\nInput:\napi_list = {tools!r}\ntask_instruction = "{asked["query"]}"\nOutput:\n'
    turns = [{"from": "human", "value": prompt}, {"from": "gpt", "value": repr(asked["calling"])}]
    return {"id": "dev-1", "conversations": turns}


@pytest.mark.parametrize("name", ["seal-tools", "seal-tools-finetune"])
def test_values_get_their_declared_type_where_they_have_one(tmp_path: Path, name: str) -> None:
    gold = [
        call("waterPlants", litres="40.7", bed="12"),
        call("mowLawn", height="3"),
        call("mowLawn", height="3.5"),
        call("mowLawn", height=[1, 2]),
        call("mowLawn", height="API_call_1"),
    ]
    source = seal_tools(tmp_path, row(*gold))
    if name.endswith("finetune"):
        source = write_rows(tmp_path / "finetune.jsonl", finetune(*gold))
    (made,), rules = requests_of(name, source)
    assert [each["arguments"] for each in made["gold"]] == [
        {"litres": 40.7, "bed": "12"},
        {"height": 3},
        {"height": "3.5"},
        {"height": [1, 2]},
        {"height": "API_call_1"},
    ]
    assert rules == {
        "number given as text; made a number": 2,
        "integer argument that is no number; kept": 2,
        "argument is another call's result (API_call_N); kept": 1,
    }
    assert made["accepted"][4]["arguments"] == {"height": []}
    assert made["messages"] == [{"role": "user", "content": "Water\nthe 'roses'"}]
    kinds = made["tools"][[t["function"]["name"] for t in made["tools"]].index("waterPlants")]["function"]["parameters"]
    assert [schema["type"] for schema in kinds["properties"].values()] == ["number", "string"]


def test_functions_on_offer_are_drawn_by_the_row_and_hold_all_that_are_called(tmp_path: Path) -> None:
    many = [call(each["api_name"]) for each in SEAL[:6]]
    source = seal_tools(tmp_path, row(call("playSong", title="Air")), row(*many, id="dev-2"), row(call("gone"), id="x"))
    made, _ = requests_of("seal-tools", source)
    offers = [[tool["function"]["name"] for tool in request["tools"]] for request in made]
    assert "playSong" in offers[0]
    assert sorted(offers[1]) == sorted(each["name"] for each in many)
    assert [len(offer) for offer in offers] == [5, 6, 5]
    assert all(len(set(offer)) == len(offer) for offer in offers)
    assert offers == [[t["function"]["name"] for t in r["tools"]] for r in requests_of("seal-tools", source)[0]]


def test_a_manifest_names_the_tool_file_too(tmp_path: Path) -> None:
    source, out = seal_tools(tmp_path, row(call("bookRoom", city="Oslo"))), tmp_path / "out.jsonl"
    sources_file([f"seal-tools:{source}"], [], out)
    manifest = json.loads(manifest_path(out).read_text())
    assert [Path(each["path"]).name for each in manifest["sources"]] == ["dev.jsonl", "tool.jsonl"]


def test_choices_are_an_enum(tmp_path: Path) -> None:
    (made,), _ = requests_of("seal-tools", seal_tools(tmp_path, row(call("bookRoom", city="Oslo"))))
    schemas = {tool["function"]["name"]: tool["function"]["parameters"] for tool in made["tools"]}
    assert schemas["bookRoom"]["properties"]["size"]["enum"] == ["a", "b"]


def test_the_pool_has_schemas_and_the_values_that_are_plain(tmp_path: Path) -> None:
    calls = [call("waterPlants", litres=2, bed="API_call_1"), call("waterPlants", litres=[1], bed="x" * 60)]
    seal_tools(tmp_path, row(*calls))
    pool = read_pool(tmp_path)
    assert pool.values == {"litres": [2], "bed": ["roses"], "city": ["Oslo"], "title": ["Air"]}
    assert {tool.area for tool in pool.tools} == {"Home", "Travel", "Music"}
    (tmp_path / "tool.jsonl").unlink()
    with pytest.raises(OospecError, match=r"there is no tool\.jsonl"):
        read_pool(tmp_path)
