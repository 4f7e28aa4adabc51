"""``train``, ``guess``, ``eval`` and ``rounds`` meet what a user can mend with one line that names it; exit code 2."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from helpers.command import train_command
from helpers.good import EVAL, GUESSING, ROUNDS, TRAIN, refusal
from helpers.training import call, read_back, write_rows


@pytest.mark.parametrize("command", [TRAIN, GUESSING, EVAL, ROUNDS])
def test_good_files_are_taken(command: str, at: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert train_command(*command.split()) == 0, capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "more", "reason"),
    [
        (TRAIN, "--rows none.jsonl", "none.jsonl: cannot read rows: No such file"),
        (TRAIN, "--rows requests.jsonl", "requests.jsonl:1: split: missing; this is no output of the stage before"),
        (TRAIN, "--device tpu", "device 'tpu': unknown"),
        (TRAIN, "--device cuda:9", "device 'cuda:9': torch sees"),
        (TRAIN, "--out rows.jsonl", "--out rows.jsonl: is a file"),
        (TRAIN, "--out rows.jsonl/out", "--out rows.jsonl/out: cannot be made: Not a directory"),
        (TRAIN, "--sidecar ./none", "'./none': no such directory"),
        (TRAIN, "--begin tiny-llama", "adapter tiny-llama: lacks adapter_config.json"),
        (TRAIN, "--begin adapter --out adapter", "--begin and --out are both adapter"),
        (TRAIN, "--budget 0", "'--budget': 0"),
        (TRAIN, "--recipe none", "'none' is not one of 'published', 'smollm2-cpu'"),
        (TRAIN, "--seed -1", "'--seed': -1"),
        (GUESSING, "--requests guesses.jsonl", "guesses.jsonl:1: messages: missing"),
        (GUESSING, "--sidecar ./none", "'./none': no such directory"),
        (GUESSING, "--devices cpu,tpu", "device 'tpu': unknown"),
        (GUESSING, "--out none/out.jsonl", "output none/out.jsonl: there is no folder"),
        (GUESSING, "--out requests.jsonl", "output requests.jsonl: is an input of this stage"),
        (GUESSING, "--out calls.jsonl", "calls.jsonl:1: bytes: missing; this file is not of this stage"),
        (EVAL, "--guesses calls.jsonl", "calls.jsonl:1: bytes: missing; this is no output of the stage before"),
        (EVAL, "--requests rows.jsonl", "rows.jsonl:1: messages: missing"),
        (EVAL, "--calls guesses.jsonl", "guesses.jsonl:1: text: missing"),
        (EVAL, "--requests asked.jsonl", "guesses.jsonl: no guess is for a request of asked.jsonl whose calls are"),
        (ROUNDS, "--requests asked.jsonl", "calls.jsonl: no finished output of a request in asked.jsonl"),
        (ROUNDS, "--target ./none", "'./none': no such directory"),
    ],
)
def test_what_is_named_on_the_command_line(
    command: str, more: str, reason: str, at: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(at.rglob("*"))
    options = dict(zip(command.split()[1::2], command.split()[2::2], strict=True))
    options |= dict(zip(more.split()[::2], more.split()[1::2], strict=True))
    words = [word for option in options.items() for word in option]
    assert reason in refusal(capsys, command.split()[0], *words)
    assert sorted(at.rglob("*")) == before  # nothing half-made stays


JUDGED_BY_CALLS = f"{EVAL} --calls calls.jsonl"
FIELDS = [
    (TRAIN, "rows", "id split teacher request rows"),
    (GUESSING, "requests", "messages tools stop"),
    (EVAL, "guesses", "id asked calls bytes"),
    (EVAL, "requests", "gold accepted"),
    (JUDGED_BY_CALLS, "calls", "id asked calls text finish"),
]


@pytest.mark.parametrize(
    ("command", "name", "field"), [(*at, each) for *at, fields in FIELDS for each in fields.split()]
)
def test_a_field_of_another_kind_is_named(
    command: str, name: str, field: str, at: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good, *more = read_back(at / f"{name}.jsonl")
    write_rows(at / f"{name}.jsonl", *more, {**good, field: 1.5})
    assert f"oospec-train: {name}.jsonl:{len(more) + 1}: {field}: " in refusal(capsys, command)
    assert {"out", "out.jsonl"}.isdisjoint(path.name for path in at.iterdir())


@pytest.mark.parametrize(
    ("command", "name", "content", "reason"),
    [
        (TRAIN, "rows", "", "rows.jsonl: no rows in this file"),
        (TRAIN, "rows", "{", "rows.jsonl: no rows in this file"),  # still being written
        (TRAIN, "rows", "{\n", "rows.jsonl:1: not JSON"),
        (TRAIN, "rows", {"split": "heldout"}, "no request of the rows is of the split 'train'"),
        (TRAIN, "rows", {"request": {}}, "rows.jsonl:1: request.messages: missing"),
        (TRAIN, "rows", {"rows": [{"kind": "slot"}]}, "rows.jsonl:1: rows.0.kind: Input should be 'function',"),
        (TRAIN, "rows", {"rows": []}, "no request of the split 'train' has an answer to train on within 2048 tokens"),
        (EVAL, "guesses", {"calls": [call("f")]}, "guesses.jsonl:1: calls.0.omitted: missing"),
        (EVAL, "requests", {"gold": [{}]}, "requests.jsonl:1: gold.0.name: missing"),
        (EVAL, "requests", {"accepted": [call("f", x="y")]}, "requests.jsonl:1: accepted.0.arguments.x: a list is"),
        (JUDGED_BY_CALLS, "calls", {"finish": "length"}, "whose calls are known"),
        (JUDGED_BY_CALLS, "calls", {"calls": [{"name": "weather", "arguments": "{"}]}, "calls are known"),
        (ROUNDS, "calls", {"finish": "tool_calls"}, "calls.jsonl: no finished output of a request"),
    ],
)
def test_what_stands_in_files(
    command: str, name: str, content: str | dict[str, Any], reason: str, at: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = at / f"{name}.jsonl"
    if isinstance(content, str):
        path.write_text(content)
    else:
        write_rows(path, {**read_back(path)[0], **content})
    assert reason in refusal(capsys, command)
