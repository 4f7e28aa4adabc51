"""The whole way through the command line: from public rows to an adapter, its guesses and what they are worth."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from helpers.command import hermes, model_folder, names_in, teacher, train_command
from helpers.training import asking, call, function, read_back, seal_tools, write_rows
from oospec_async.weights.adapters import check_adapter


def rows_about(names: Sequence[str]) -> list[dict[str, Any]]:
    """Requests for one function each, with another on offer."""
    rows = []
    for number, name in enumerate(names):
        tools = [function(each, "city", "days", required=("city",), days={"type": "integer"}) for each in names[:2]]
        tools = [t for t in tools if t["function"]["name"] != name]
        tools.insert(number % 2, function(name, "city", "days", required=("city",), days={"type": "integer"}))
        gold = [call(name, city="Paris", **({"days": number} if number % 3 else {}))]
        rows.append(asking(f"{name}: Paris{f', {number} days' if number % 3 else ''}", *tools, gold=gold))
    return rows


def said_for(requests: Path) -> dict[str, str]:
    """What a teacher says to each prompt: gold, but one call is of a function that was not asked for."""
    rows = read_back(requests)
    said = {row["messages"][-1]["content"]: hermes(*row["gold"]) for row in rows}
    return {**said, rows[0]["messages"][-1]["content"]: hermes(call("elsewhere"))}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every stage once."""
    at = tmp_path_factory.mktemp("pipeline")

    def stage(*arguments: object) -> None:
        assert train_command(*arguments) == 0

    public = write_rows(at / "public-set.jsonl", *rows_about(names_in("train", 8) + names_in("dev", 2)))
    test = write_rows(at / "test-set.jsonl", *rows_about([f"judged_{n}" for n in range(4)]))
    seal_tools(at / "seal")
    model, kept_out = model_folder(at / "tiny-llama"), ("--eval", f"openai:{test}")
    stage("sources", "--train", f"openai:{public}", *kept_out, "--out", at / "public.jsonl")
    stage("sources", "--eval", f"openai:{test}", "--out", at / "test.jsonl")
    written = ("--seal-tools", at / "seal", *kept_out)
    stage("synthesise", "--writer", "phrases", *written, "--count", 24, "--seed", 77, "--out", at / "messages.jsonl")
    stage("offer", "--messages", at / "messages.jsonl", *written, "--out", at / "offered.jsonl")
    stage("vary", "--requests", at / "offered.jsonl", "--out", at / "requests.jsonl")
    with teacher({**said_for(at / "requests.jsonl"), **said_for(at / "test.jsonl")}.__getitem__) as address:
        asked = ("teach", "--teacher", address, "--model", "gold")
        stage(*asked, "--requests", at / "requests.jsonl", "--out", at / "calls.jsonl", "--limit", 8)
        stage(*asked, "--requests", at / "test.jsonl", "--out", at / "said.jsonl")
    taught = ("--requests", at / "requests.jsonl", "--requests", at / "public.jsonl", "--calls", at / "calls.jsonl")
    stage("rows", *taught, *kept_out, "--out", at / "rows.jsonl")
    for name in ("adapter", "again"):
        stage("train", "--rows", at / "rows.jsonl", "--sidecar", model, "--dtype", "float32", "--out", at / name)
    guess = ("guess", "--requests", at / "test.jsonl", "--sidecar", model, "--dtype", "float32", "--devices", "cpu")
    stage(*guess, "--adapter", at / "adapter", "--out", at / "guesses.jsonl")
    return at


def counts(path: Path) -> Any:
    return json.loads(path.read_text())["counts"]


def test_every_stage_hands_on_what_it_was_given(folder: Path) -> None:
    found = counts(folder / "rows.jsonl.manifest.json")
    assert found["train: requests"] > 15
    assert found["dev: requests"] >= 2
    assert found["eval: requests"] == 4
    rules = {r["rule"]: r["count"] for r in json.loads((folder / "rows.jsonl.manifest.json").read_text())["rules"]}
    assert rules["calls of the teacher; taken"] == 7  # one of the eight calls is of a function that is not on offer
    assert rules["teacher's calls that are not valid; gold taken"] == 1
    assert counts(folder / "adapter" / "manifest.json")["steps"] == -(-found["train: requests"] // 4)
    assert [line["id"] for line in read_back(folder / "guesses.jsonl")] == [
        line["id"] for line in read_back(folder / "test.jsonl")
    ]


def test_one_seed_gives_one_adapter(folder: Path) -> None:
    check_adapter(folder / "adapter")
    for name in ("adapter_model.safetensors", "adapter_config.json", "manifest.json"):
        one, other = ((folder / out / name).read_bytes() for out in ("adapter", "again"))
        assert hashlib.sha256(one).hexdigest() == hashlib.sha256(other).hexdigest(), name


def test_guesses_are_judged_by_rules_and_by_a_target(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = ("--guesses", folder / "guesses.jsonl", "--requests", folder / "test.jsonl")
    assert train_command("eval", *files, "--json") == 0
    by_rules = json.loads(capsys.readouterr().out)["openai/test-set"]
    assert by_rules["requests"] == 4
    assert train_command("eval", *files, "--calls", folder / "said.jsonl", "--json") == 0
    by_target = json.loads(capsys.readouterr().out)["openai/test-set"]
    assert by_target["requests"] == 3  # one answer calls nothing that is on offer
    assert by_target.keys() == by_rules.keys()
    assert train_command("eval", *files) == 0
    table = capsys.readouterr().out
    assert all(column in table for column in ("openai/test-set", *by_rules))


def test_rounds_that_guesses_save_are_counted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = ("--guesses", folder / "guesses.jsonl", "--requests", folder / "test.jsonl")
    files += ("--calls", folder / "said.jsonl", "--target", folder / "tiny-llama")
    assert train_command("rounds", *files, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["outputs"] == 4
    assert found["perfect"] < found["without"] < found["tokens"]
    assert found["perfect"] <= found["guessed"]  # wrong guesses may cost rounds
    assert train_command("rounds", *files) == 0
    assert f"{found['without']} rounds without a hint" in capsys.readouterr().out


def test_the_answers_themselves_save_all_rounds(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    right = [
        {**line, "bytes": 0, "calls": [{**each, "omitted": []} for each in line["calls"]]}
        for line in read_back(folder / "said.jsonl")
    ]
    guesses = write_rows(tmp_path / "right.jsonl", *right)
    files = ("--guesses", guesses, "--requests", folder / "test.jsonl", "--calls", folder / "said.jsonl")
    assert train_command("rounds", *files, "--target", folder / "tiny-llama", "--json") == 0
    assert json.loads(capsys.readouterr().out)["saved"] == 1.0


def test_a_finished_stage_has_nothing_left_to_do(folder: Path) -> None:
    before = {path: path.read_bytes() for path in folder.glob("guesses.jsonl*")}
    weights = (folder / "again" / "adapter_model.safetensors").read_bytes()
    model = folder / "tiny-llama"
    guess = ("guess", "--requests", folder / "test.jsonl", "--sidecar", model, "--dtype", "float32", "--devices", "cpu")
    assert train_command(*guess, "--adapter", folder / "adapter", "--out", folder / "guesses.jsonl") == 0
    train = ("train", "--rows", folder / "rows.jsonl", "--sidecar", model, "--dtype", "float32")
    assert train_command(*train, "--out", folder / "again") == 0
    assert {path: path.read_bytes() for path in before} == before
    assert (folder / "again" / "adapter_model.safetensors").read_bytes() == weights


def test_a_second_phase_begins_with_an_adapter(folder: Path, tmp_path: Path) -> None:
    train = ("train", "--rows", folder / "rows.jsonl", "--sidecar", folder / "tiny-llama", "--dtype", "float32")
    assert train_command(*train, "--begin", folder / "adapter", "--out", tmp_path / "second") == 0
    manifest = json.loads((tmp_path / "second" / "manifest.json").read_text())
    assert manifest["options"]["begin"].startswith("adapter (SHA-256 ")
    losses = [
        counts(path / "manifest.json")["dev loss by step"][-1][1] for path in (folder / "adapter", tmp_path / "second")
    ]
    assert losses[1] < losses[0]


def test_a_local_model_teaches(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "calls.jsonl"
    options = ("--limit", 2, "--max-new-tokens", 6, "--devices", "cpu", "--dtype", "float32")
    teach = ("teach", "--teacher", folder / "tiny-llama", "--requests", folder / "test.jsonl")
    assert train_command(*teach, *options, "--out", out) == 0
    assert [(line["id"], line["finish"]) for line in read_back(out)] == [
        (row["id"], "length") for row in read_back(folder / "test.jsonl")[:2]
    ]
