"""What tests of the model stages share: good files of every stage, commands on them, and what a refusal says."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers import tiny
from helpers.command import model_folder, names_in, train_command
from helpers.training import asking, call, function, write_rows
from oospec_async.request import parse_request
from oospec_async.training.data.rows import rows_file
from oospec_async.training.fit.adapter import adapted, save_adapter
from oospec_async.training.fit.recipe import Recipe
from oospec_async.training.teach.teacher import asked

REQUEST = asking("Paris", function("weather", "city", required=("city",)), gold=[call("weather", city="Paris")])
DIGEST = asked(parse_request(REQUEST, ""))
GUESS = {"id": "id-Paris", "asked": DIGEST, "bytes": 2, "calls": [{**call("weather", city="Rome"), "omitted": []}]}
SAID = {"id": "id-Paris", "asked": DIGEST, "calls": [call("weather", city="Paris")], "text": "", "finish": "stop"}

TRAIN = "train --rows rows.jsonl --sidecar tiny-llama --dtype float32 --out out"
GUESSING = (
    "guess --requests requests.jsonl --sidecar tiny-llama --adapter none --dtype float32 --devices cpu --out out.jsonl"
)
EVAL = "eval --guesses guesses.jsonl --requests requests.jsonl"
ROUNDS = "rounds --guesses guesses.jsonl --requests requests.jsonl --calls calls.jsonl --target tiny-llama"


def make_good(at: Path) -> None:
    """A model, an adapter for it, and good files of every stage."""
    model_folder(at / "tiny-llama")
    save(at / "adapter", "tiny-llama", Recipe())
    rows = []
    for name in (*names_in("train", 8), *names_in("dev", 1)):
        rows.append(asking(f"Paris {name}", function(name, "city"), gold=[call(name, city="Paris")]))
    rows_file([write_rows(at / "asked.jsonl", *rows)], [], [], at / "rows.jsonl")
    write_rows(at / "requests.jsonl", REQUEST)
    write_rows(at / "guesses.jsonl", GUESS)
    write_rows(at / "calls.jsonl", SAID)


def save(out: Path, base: str, recipe: Recipe) -> None:
    """An adapter for a tiny model that is called ``base``."""
    model = tiny.random_model("llama")
    model.name_or_path = base
    out.mkdir()
    save_adapter(adapted(model, recipe), out)


def refusal(capsys: pytest.CaptureFixture[str], command: str, *more: str) -> str:
    """The one line that a refused command says."""
    capsys.readouterr()
    assert train_command(*command.split(), *more) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    said = [line for line in captured.err.splitlines() if line.startswith("oospec-train: ")]
    assert len(said) == 1, captured.err
    assert "Traceback" not in captured.err
    return said[0]
