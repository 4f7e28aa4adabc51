"""Training learns, goes on where it was stopped, and gives the same adapter for the same seed."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from helpers import tiny
from helpers.command import names_in
from helpers.training import trips, write_rows
from oospec_async.errors import OospecError
from oospec_async.training.data.rows import rows_file
from oospec_async.training.data.training_rows import TrainingRow, read_training_rows
from oospec_async.training.fit.recipe import Recipe
from oospec_async.training.fit.trainer import Report, Trainer, TrainOptions

RECIPE = Recipe(rank=4, alpha=8, dropout=0.0, epochs=2, batch=2, rate=1e-2, longest=400)


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rows")
    requests = write_rows(folder / "requests.jsonl", *trips(*names_in("train", 6), *names_in("dev", 2)))
    rows_file([requests], [], [], folder / "rows.jsonl")
    return folder / "rows.jsonl"


def trainer(rows: Path, out: Path, family: str = "llama", recipe: Recipe = RECIPE, seed: int = 0) -> Trainer:
    out.mkdir(exist_ok=True)
    model = tiny.random_model(family, std=0.2)
    return Trainer(model, tiny.codec(), read_training_rows([rows]), TrainOptions(recipe, seed, out))


def longer(row: TrainingRow) -> TrainingRow:
    (message,) = row.request.messages
    messages = (message.model_copy(update={"content": message.content * 30}),)
    return row.model_copy(update={"request": row.request.model_copy(update={"messages": messages})})


def weights(out: Path) -> str:
    return hashlib.sha256((out / "adapter_model.safetensors").read_bytes()).hexdigest()


def run(made: Trainer) -> list[Report]:
    made.resume()
    return list(made.run())


@pytest.mark.parametrize("family", tiny.FAMILIES)  # a Qwen3 of small size among them
def test_training_lowers_the_loss_of_functions_never_seen(family: str, rows: Path, tmp_path: Path) -> None:
    losses = [r.dev_loss for r in run(trainer(rows, tmp_path, family, replace(RECIPE, epochs=1)))]
    more = [r.dev_loss for r in run(trainer(rows, tmp_path / "more", family, replace(RECIPE, epochs=12)))]
    assert losses[-1] is not None
    assert more[-1] is not None
    assert more[-1] < losses[-1]


def test_one_seed_gives_one_adapter_and_another_seed_another(rows: Path, tmp_path: Path) -> None:
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        run(trainer(rows, tmp_path / name, seed=seed))
    assert weights(tmp_path / "a") == weights(tmp_path / "b") != weights(tmp_path / "c")


def test_a_stopped_run_goes_on_as_if_it_had_not_been_stopped(
    rows: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("oospec_async.training.fit.trainer._DEV_EVERY", 2)
    run(trainer(rows, tmp_path / "whole"))
    first = trainer(rows, tmp_path / "stopped").run()
    for _ in range(3):
        next(first)
    first.close()  # after step 3: step 2 was saved
    second = trainer(rows, tmp_path / "stopped")
    assert second.resume() == 2
    list(second.run())
    assert weights(tmp_path / "whole") == weights(tmp_path / "stopped")


def test_a_broken_checkpoint_is_refused(rows: Path, tmp_path: Path) -> None:
    run(trainer(rows, tmp_path))
    (tmp_path / "checkpoint.pt").write_bytes(b"half")
    with pytest.raises(OospecError, match=r"checkpoint.pt: cannot be read"):
        trainer(rows, tmp_path).resume()


def test_an_adapter_can_be_begun_with(rows: Path, tmp_path: Path) -> None:
    run(trainer(rows, tmp_path / "first"))
    (tmp_path / "second").mkdir()
    options = TrainOptions(replace(RECIPE, rate=0.0), 0, tmp_path / "second", begin=tmp_path / "first")
    run(Trainer(tiny.random_model("llama", std=0.2), tiny.codec(), read_training_rows([rows]), options))
    assert weights(tmp_path / "first") == weights(tmp_path / "second")


def test_requests_that_are_too_long_are_counted(rows: Path, tmp_path: Path) -> None:
    lines = read_training_rows([rows])
    long = longer(next(row for row in lines if row.split == "train"))
    options = TrainOptions(RECIPE, 0, tmp_path)
    reports = run(Trainer(tiny.random_model("llama"), tiny.codec(), [*lines, long, long, long], options))
    assert reports[-1].left_out == 3 * RECIPE.epochs
    assert reports[-1].tokens > 0


def test_without_a_development_split_that_fits_the_last_adapter_is_kept(rows: Path, tmp_path: Path) -> None:
    lines = [row for row in read_training_rows([rows]) if row.split == "train"]
    long = longer(lines[0]).model_copy(update={"split": "dev"})
    options = TrainOptions(RECIPE, 0, tmp_path)
    reports = run(Trainer(tiny.random_model("llama"), tiny.codec(), [*lines, long], options))
    assert reports[-1].dev_loss is None
    assert weights(tmp_path)


def test_losses_of_all_runs_are_remembered_and_the_best_adapter_is_kept(
    rows: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("oospec_async.training.fit.trainer._DEV_EVERY", 1)
    first = trainer(rows, tmp_path)
    reports = first.run()
    for _ in range(2):
        next(reports)
    reports.close()
    second = trainer(rows, tmp_path)
    second.resume()
    losses = iter([9.0, 8.0, 8.5])  # of steps 3 to 5
    monkeypatch.setattr(second, "_measure", lambda: next(losses, 9.5))
    kept = []
    for report in second.run():
        kept.append((report.step, weights(tmp_path)))
    assert [step for step, _ in second.history] == [1, 2, 3, 4, 5, 6]
    assert second.history[:2] == first.history
    assert len({digest for step, digest in kept}) == 1  # those of steps 1 and 2 were better than all later ones


def test_a_run_that_gets_no_better_ends_early(rows: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("oospec_async.training.fit.trainer._DEV_EVERY", 1)
    monkeypatch.setattr("oospec_async.training.fit.trainer._PATIENCE", 2)
    made = trainer(rows, tmp_path)
    losses = iter([1.0, 2.0, 3.0])
    monkeypatch.setattr(made, "_measure", lambda: next(losses))
    assert [report.step for report in made.run()] == [1, 2, 3, 3]


def test_a_budget_ends_the_schedule(rows: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = iter(range(0, 6000, 30))
    monkeypatch.setattr("oospec_async.training.fit.trainer.time.monotonic", lambda: float(next(seconds)))
    options = TrainOptions(RECIPE, 0, tmp_path, budget=2.0)
    made = Trainer(tiny.random_model("llama", std=0.2), tiny.codec(), read_training_rows([rows]), options)
    assert [report.step for report in made.run()] == [1, 2, 3, 3]  # of six: the clock is read once a step, 30 s apart
