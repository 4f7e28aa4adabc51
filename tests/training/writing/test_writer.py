"""The writer on a tiny model: shared examples, padding and ends."""

from __future__ import annotations

from typing import Any

import torch

from helpers import tiny
from oospec_async.training.data.writing.writer import Writer

END = tiny.token("<|im_end|>")
TASKS = ["Water the plants\nlitres = 2", "Mow", "Wait\nminutes = 30\nloud = true"]


def model() -> Any:
    made = tiny.random_model("qwen2", context=2048)
    made.generation_config.eos_token_id = [END]
    return made


def test_messages_are_the_same_for_a_seed() -> None:
    writer = Writer(model(), tiny.tokenizer(), "tiny")
    state = torch.random.get_rng_state()
    messages = writer.write(TASKS, 5)
    assert messages == writer.write(TASKS, 5)
    assert messages != writer.write(TASKS, 6)
    assert len(messages) == len(TASKS)
    assert torch.equal(torch.random.get_rng_state(), state)


def test_shared_examples_and_padding_change_no_message() -> None:
    """Greedy, so that each row can be compared with plain ``generate`` of its prompt alone."""
    target = model()
    writer = Writer(target, tiny.tokenizer(), "tiny", {"do_sample": False})
    for task, message in zip(TASKS, writer.write(TASKS, 0), strict=True):
        output = tiny.generate(target, writer.prompt(task), 64)
        body = output[: output.index(END)] if END in output else output
        assert message.finished == (END in output)
        assert message.text == tiny.tokenizer().decode(body, skip_special_tokens=True).strip()
