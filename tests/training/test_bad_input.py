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
        (TRAIN, "--rows .", ".: cannot read rows: Is a directory"),
        (TRAIN, "--device tpu", "device 'tpu': unknown"),
        (TRAIN, "--device cuda:9", "device 'cuda:9': torch sees"),
        (TRAIN, "--out rows.jsonl", "--out rows.jsonl: is a file"),
        (TRAIN, "--out rows.jsonl/out", "--out rows.jsonl/out: cannot be made: Not a directory"),
        (TRAIN, "--sidecar ./none", "'./none': no such directory"),
        (TRAIN, "--begin none", "adapter none: No such file"),
        (TRAIN, "--begin tiny-llama", "adapter tiny-llama: lacks adapter_config.json"),
        (TRAIN, "--begin adapter --out adapter", "--begin and --out are both adapter"),
        (TRAIN, "--begin adapter --sidecar other-llama", "it belongs to tiny-llama, not to other-llama"),
        (TRAIN, "--budget 0", "'--budget': 0"),
        (TRAIN, "--recipe none", "'none' is not one of 'published', 'smollm2-cpu'"),
        (TRAIN, "--seed -1", "'--seed': -1"),
        (GUESSING, "--requests none.jsonl", "none.jsonl: cannot read rows: No such file"),
        (GUESSING, "--requests guesses.jsonl", "guesses.jsonl:1: messages: missing"),
        (GUESSING, "--adapter none-such", "adapter none-such: No such file"),
        (GUESSING, "--sidecar ./none", "'./none': no such directory"),
        (GUESSING, "--devices cpu,tpu", "device 'tpu': unknown"),
        (GUESSING, "--devices cuda:9", "device 'cuda:9': torch sees"),
        (GUESSING, "--out none/out.jsonl", "output none/out.jsonl: there is no folder"),
        (GUESSING, "--out tiny-llama", "output tiny-llama: is no regular file"),
        (GUESSING, "--out requests.jsonl", "output requests.jsonl: is an input of this stage"),
        (GUESSING, "--out calls.jsonl", "calls.jsonl:1: bytes: missing; this file is not of this stage"),
        (EVAL, "--guesses none.jsonl", "none.jsonl: cannot read rows: No such file"),
        (EVAL, "--guesses calls.jsonl", "calls.jsonl:1: bytes: missing; this is no output of the stage before"),
        (EVAL, "--requests rows.jsonl", "rows.jsonl:1: messages: missing"),
        (EVAL, "--calls guesses.jsonl", "guesses.jsonl:1: text: missing"),
        (EVAL, "--requests asked.jsonl", "guesses.jsonl: no guess is for a request of asked.jsonl whose calls are"),
        (ROUNDS, "--calls none.jsonl", "none.jsonl: cannot read rows: No such file"),
        (ROUNDS, "--calls guesses.jsonl", "guesses.jsonl:1: text: missing"),
        (ROUNDS, "--requests asked.jsonl", "calls.jsonl: no finished output of a request in asked.jsonl"),
        (ROUNDS, "--target ./none", "'./none': no such directory"),
    ],
)
def test_what_is_named_on_the_command_line(
    command: str, more: str, reason: str, at: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if "other-llama" in more:
        (at / "other-llama").symlink_to(at / "tiny-llama")
    before = sorted(at.rglob("*"))
    options = dict(zip(command.split()[1::2], command.split()[2::2], strict=True))
    options |= dict(zip(more.split()[::2], more.split()[1::2], strict=True))
    words = [word for option in options.items() for word in option]
    assert reason in refusal(capsys, command.split()[0], *words)
    assert sorted(at.rglob("*")) == before  # nothing half-made stays


@pytest.mark.parametrize(
    ("command", "name", "content", "reason"),
    [
        (TRAIN, "rows", "", "rows.jsonl: no rows in this file"),
        (TRAIN, "rows", "{", "rows.jsonl: no rows in this file"),  # still being written
        (TRAIN, "rows", "{\n", "rows.jsonl:1: not JSON"),
        (TRAIN, "rows", "[]\n", "rows.jsonl: no rows in this file"),
        (TRAIN, "rows", {"teacher": 1}, "rows.jsonl:1: teacher: true or false is expected, not 1"),
        (
            TRAIN,
            "rows",
            {"split": "test"},
            "rows.jsonl:1: split: Input should be 'train', 'dev', 'heldout'",
        ),
        (TRAIN, "rows", {"split": "heldout"}, "no request of the rows is of the split 'train'"),
        (TRAIN, "rows", {"request": {}}, "rows.jsonl:1: request.messages: missing"),
        (TRAIN, "rows", {"rows": {}}, "rows.jsonl:1: rows: a list is expected, not dict"),
        (TRAIN, "rows", {"rows": [1]}, "rows.jsonl:1: rows.0: an object is expected, not 1"),
        (
            TRAIN,
            "rows",
            {"rows": [{"kind": "slot"}]},
            "rows.jsonl:1: rows.0.kind: Input should be 'function',",
        ),
        (TRAIN, "rows", {"rows": []}, "no request of the split 'train' has an answer to train on within 2048 tokens"),
        (GUESSING, "requests", "", "requests.jsonl: no rows in this file"),
        (GUESSING, "requests", "{\n", "requests.jsonl:1: not JSON"),
        (GUESSING, "requests", {"messages": []}, "requests.jsonl:1: messages: should not be empty"),
        (EVAL, "guesses", "", "guesses.jsonl: no rows in this file"),
        (EVAL, "guesses", {"calls": {}}, "guesses.jsonl:1: calls: a list is expected, not dict"),
        (EVAL, "guesses", {"calls": [1]}, "guesses.jsonl:1: calls.0: an object is expected, not 1"),
        (EVAL, "guesses", {"calls": [call("f")]}, "guesses.jsonl:1: calls.0.omitted: missing"),
        (EVAL, "requests", {"gold": [{}]}, "requests.jsonl:1: gold.0.name: missing"),
        (EVAL, "requests", {"accepted": 1}, "requests.jsonl:1: accepted: a list is expected, not 1"),
        (EVAL, "requests", {"accepted": [call("weather")]}, "requests.jsonl:1: accepted.0.optional: missing"),
        (
            EVAL,
            "requests",
            {"accepted": [{**call("weather", city="Paris"), "optional": []}]},
            "requests.jsonl:1: accepted.0.arguments.city: a list is expected, not 'Paris'",
        ),
        (f"{EVAL} --calls calls.jsonl", "calls", {"calls": 1}, "calls.jsonl:1: calls: a list is expected, not 1"),
        (f"{EVAL} --calls calls.jsonl", "calls", {"finish": "length"}, "whose calls are known"),
        (f"{EVAL} --calls calls.jsonl", "calls", {"calls": [{"name": "weather", "arguments": "{"}]}, "calls are known"),
        (ROUNDS, "calls", {"text": 1}, "calls.jsonl:1: text: text is expected, not 1"),
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
    assert not (at / "out").exists()
    assert not (at / "out.jsonl").exists()
