"""Kill and Ctrl-C: what is on disk is whole, and a new start ends where an uninterrupted run would have."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest
import torch

from helpers import tiny
from helpers.command import child, hermes, model_folder, names_in, teacher, train_command, wait_for
from helpers.training import call, read_back, trips, write_rows
from oospec_async.errors import OospecError
from oospec_async.training.data.rows import rows_file
from oospec_async.training.fit.adapter import adapted, save_adapter
from oospec_async.training.fit.recipe import Recipe
from oospec_async.weights.adapters import check_adapter

ADAPTER = ("adapter_model.safetensors", "adapter_config.json")
STOPS = {signal.SIGKILL: -signal.SIGKILL, signal.SIGINT: 130}  # exit codes

# The child checkpoints every second step, and waits within its sixth: for whatever the test does to it.
IN_STEP_SIX = """\
from oospec_async.training.fit import trainer
trainer._DEV_EVERY = 2
optimise = trainer.Trainer._optimise
def stopping(self, packed, progress):
    if self._now.step == 5:
        print("in step 6", file=sys.stderr, flush=True)
        sys.stdin.readline()
    return optimise(self, packed, progress)
trainer.Trainer._optimise = stopping
"""
AT_THIRD_GUESS = """\
from oospec_async.training.judge import guess
guessed, asked = guess.guessed, []
def stopping(sidecar, request):
    asked.append(request)
    if len(asked) == 3:
        print("third", file=sys.stderr, flush=True)
        sys.stdin.readline()
    return guessed(sidecar, request)
guess.guessed = stopping
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model, requests, and training rows for eight steps."""
    at = tmp_path_factory.mktemp("interrupted")
    model_folder(at / "tiny-llama")
    made = trips(*names_in("train", 32), *names_in("dev", 2))
    write_rows(at / "few.jsonl", *made[:4])
    rows_file([write_rows(at / "requests.jsonl", *made)], [], [], at / "rows.jsonl")
    return at


def stopped(process: subprocess.Popen[str], how: signal.Signals, before: str) -> str:
    """Everything on stderr of a child that is stopped when it has said ``before``."""
    with process:
        said = wait_for(process, before)
        process.send_signal(how)
        _, rest = process.communicate(timeout=120)
    assert process.returncode == STOPS[how]
    return said + rest


def check_words(stderr: str) -> None:
    """One line about the interruption, beside progress and results; nothing of libraries."""
    assert stderr.splitlines()[-1] == "oospec-train: interrupted"
    assert "Traceback" not in stderr
    assert "Warning" not in stderr


def train_arguments(folder: Path, out: Path) -> list[object]:
    options = ["--sidecar", folder / "tiny-llama", "--dtype", "float32", "--out", out]
    return ["train", "--rows", folder / "rows.jsonl", *options]


@pytest.fixture(scope="module")
def uninterrupted(folder: Path) -> dict[str, bytes]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("oospec_async.training.fit.trainer._DEV_EVERY", 2)
        assert train_command(*train_arguments(folder, folder / "whole")) == 0
    return contents(folder / "whole")


def contents(out: Path) -> dict[str, bytes]:
    return {name: (out / name).read_bytes() for name in (*ADAPTER, "manifest.json")}


@pytest.mark.parametrize("how", STOPS)
def test_a_training_that_was_stopped_goes_on_to_the_same_adapter(
    how: signal.Signals, folder: Path, uninterrupted: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    stderr = stopped(child(IN_STEP_SIX, *train_arguments(folder, out)), how, "in step 6")
    assert "step 4/8" in stderr
    assert {path.name for path in out.iterdir()} == {
        "adapter_model.safetensors",
        "adapter_config.json",
        "checkpoint.pt",
    }
    if how == signal.SIGINT:
        check_words(stderr)
    monkeypatch.setattr("oospec_async.training.fit.trainer._DEV_EVERY", 2)
    assert train_command(*train_arguments(folder, out)) == 0
    assert contents(out) == uninterrupted


def test_guesses_that_were_interrupted_are_kept(folder: Path, tmp_path: Path) -> None:
    def arguments(out: Path) -> list[object]:
        options = ["--sidecar", folder / "tiny-llama", "--adapter", "none", "--dtype", "float32", "--devices", "cpu"]
        return ["guess", "--requests", folder / "few.jsonl", *options, "--out", out]

    def told(path: Path) -> list[dict[str, Any]]:
        return [{key: value for key, value in row.items() if key != "seconds"} for row in read_back(path)]

    out, whole = tmp_path / "guesses.jsonl", tmp_path / "whole.jsonl"
    check_words(stopped(child(AT_THIRD_GUESS, *arguments(out)), signal.SIGINT, "third"))
    assert {path.name for path in tmp_path.iterdir()} == {out.name, f"{out.name}.manifest.json"}
    assert len(read_back(out)) == 2
    assert train_command(*arguments(out)) == train_command(*arguments(whole)) == 0
    assert told(out) == told(whole)


def test_a_server_that_never_answers_does_not_hold_up_ctrl_c(folder: Path, tmp_path: Path) -> None:
    third, released, prompts = threading.Event(), threading.Event(), list[str]()

    def answer(prompt: str) -> str:
        prompts.append(prompt)
        if len(prompts) == 3:
            third.set()
            released.wait()
        return hermes(call("f"))

    out = tmp_path / "calls.jsonl"
    with teacher(answer) as address:
        asked = ["teach", "--teacher", address, "--model", "m", "--requests", folder / "few.jsonl", "--out", out]
        with child("", *asked) as process:
            assert third.wait(timeout=120)
            process.send_signal(signal.SIGINT)
            _, stderr = process.communicate(timeout=120)
        released.set()
        assert process.returncode == 130
        check_words(stderr)
        assert len(read_back(out)) == 2
        assert train_command(*asked) == 0
    assert [row["id"] for row in read_back(out)] == [row["id"] for row in read_back(folder / "few.jsonl")]
    assert len(prompts) == 5  # the one that was not answered is asked again


class Killed(BaseException):
    """Stands for a kill: nothing handles it."""


@pytest.mark.parametrize("rank", [4, 8])
def test_at_every_moment_of_a_save_a_reader_finds_one_adapter_or_none(
    rank: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``rank``: of the adapter that replaces one of rank 4."""
    models = [adapted(tiny.random_model("llama"), Recipe(rank=each)) for each in (4, rank)]
    with torch.no_grad():
        next(p for p in models[1].parameters() if p.requires_grad).add_(1.0)
    whole = [saved(model, tmp_path / name) for model, name in zip(models, ("old", "new"), strict=True)]
    assert whole[0] != whole[1]
    replace, unlink, found = os.replace, Path.unlink, list[Any]()
    for fatal in range(6):
        out, calls = tmp_path / str(fatal), itertools.count()
        saved(models[0], out)

        def counting(call: Any, calls: Any = calls, fatal: int = fatal) -> Any:
            def counted(*arguments: Any, **more: Any) -> Any:
                if next(calls) >= fatal:
                    raise Killed
                return call(*arguments, **more)

            return counted

        with monkeypatch.context() as patch, contextlib.suppress(Killed):
            patch.setattr(os, "replace", counting(replace))
            patch.setattr(Path, "unlink", counting(unlink))
            save_adapter(models[1], out)
        with contextlib.suppress(OospecError):
            check_adapter(out)
            found.append(read(out))
    assert all(each in whole for each in found)
    assert found[0] == whole[0]
    assert found[-1] == whole[1]
    assert (len(found) < 6) == (rank != 4)  # between two shapes there is none


def saved(model: Any, out: Path) -> list[bytes]:
    out.mkdir()
    save_adapter(model, out)
    return read(out)


def read(out: Path) -> list[bytes]:
    return [(out / name).read_bytes() for name in ADAPTER]
