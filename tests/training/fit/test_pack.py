"""A packed request predicts at every answer what each question alone would."""

from __future__ import annotations

import random

import pytest
import torch

from helpers import tiny
from oospec_async.sidecar.questions import prefix
from oospec_async.training.data.rows import questions
from oospec_async.training.data.training_rows import TrainingRow
from oospec_async.training.fit.loss import weighted_loss
from oospec_async.training.fit.pack import pack, sampled
from oospec_async.training.notes import Notes
from oospec_async.training.records import Call

REQUEST = tiny.request("Weather in Paris and Rome?", tools=(tiny.WEATHER, tiny.TIME))
CALLS = [
    Call(name="get_weather", arguments=arguments) for arguments in ({"city": "Paris", "days": 3}, {"city": "Rome"})
]
ROWS = list(questions(REQUEST, CALLS, "here", Notes()))
LINE = TrainingRow(id="r", split="train", teacher=True, request=REQUEST, rows=ROWS)


class Unwrapped:
    """Stands in for a peft model around a base model."""

    def __init__(self, model: object) -> None:
        self._model = model

    def get_base_model(self) -> object:
        return self._model


@pytest.mark.parametrize("family", tiny.FAMILIES)
def test_the_loss_of_a_packed_request_is_the_sum_of_its_questions_alone(family: str) -> None:
    model = tiny.random_model(family, std=0.3)
    codec = tiny.codec()
    alone = 0.0
    for row in ROWS:
        prompt = [t for part in (prefix(REQUEST), row.stem, row.ask) for t in codec.encode(part)]
        answer = codec.encode(row.answer)
        with torch.inference_mode():
            logits = model(torch.tensor([prompt + answer]), use_cache=False).logits[0, len(prompt) - 1 : -1]
        losses = torch.nn.functional.cross_entropy(logits.float(), torch.tensor(answer), reduction="sum")
        alone += float(losses) * len(answer) ** -0.5
    with torch.no_grad():
        together = float(weighted_loss(Unwrapped(model), [pack(REQUEST, ROWS, codec)]))
    assert together == pytest.approx(alone, rel=1e-4)


def test_padding_changes_nothing() -> None:
    model, codec = tiny.random_model("llama", std=0.3), tiny.codec()
    both = [pack(REQUEST, ROWS, codec), pack(REQUEST, ROWS[:2], codec)]
    with torch.no_grad():
        apart = sum(float(weighted_loss(Unwrapped(model), [each])) for each in both)
        together = float(weighted_loss(Unwrapped(model), both))
    assert together == pytest.approx(apart, rel=1e-4)


def test_a_stem_stands_once_and_answers_alone_are_learnt() -> None:
    packed, codec = pack(REQUEST, ROWS, tiny.codec()), tiny.codec()
    stems = {row.stem for row in ROWS}
    length = len(codec.encode(prefix(REQUEST))) + sum(len(codec.encode(stem)) for stem in stems)
    length += sum(len(codec.encode(row.ask)) + len(codec.encode(row.answer)) - 1 for row in ROWS)
    assert len(packed) == length
    assert sum(target >= 0 for target in packed.targets) == sum(len(codec.encode(row.answer)) for row in ROWS)


def test_every_row_that_a_wave_asks_is_sampled_but_what_gold_left_out() -> None:
    called = [row for row in ROWS if row.kind != "call" and row.chosen]
    null = [row for row in called if row.kind == "argument" and row.answer == " null\n"]
    rng = random.Random(0)
    drawn = [sampled(LINE, rng) for _ in range(50)]
    assert all(all(row in each for row in called) for each in drawn)
    golden = [sampled(LINE.model_copy(update={"teacher": False}), rng) for _ in range(50)]
    assert all(all(row in each for row in called if row not in null) for each in golden)
    assert not all(all(row in each for row in null) for each in golden)
