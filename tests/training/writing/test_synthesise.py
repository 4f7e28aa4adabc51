"""Drawn tasks, messages that say every value, and files that do not depend on interruptions."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.progress import Progress

from helpers.training import SEAL, asking, function, read_back, seal_tools, write_rows
from oospec_async.errors import OospecError
from oospec_async.files.journal import Journal
from oospec_async.training.data.decontaminate import Evaluation
from oospec_async.training.data.writing.phrases import Phrases
from oospec_async.training.data.writing.seal_pool import read_pool
from oospec_async.training.data.writing.synthesise import (
    BATCH,
    SynthesiseOptions,
    batch,
    message_row,
    synthesise,
    write_batches,
)
from oospec_async.training.data.writing.tasks import Drawing, Message, mentions
from oospec_async.training.data.writing.widen import EXTRAS
from oospec_async.training.stage import Growing


@pytest.fixture
def drawing(tmp_path: Path) -> Drawing:
    seal_tools(tmp_path)
    return Drawing(read_pool(tmp_path), Evaluation())


def test_tasks_fit_their_schemas(drawing: Drawing) -> None:
    assert len(drawing) == 6  # all but the one without parameters
    kinds: dict[str, type | tuple[type, ...]] = {
        "string": str, "integer": int, "number": (int, float), "boolean": bool, "array": list,
    }  # fmt: skip
    seen: dict[int, int] = {1: 0, 2: 0, 3: 0}
    for seed in range(400):
        task = drawing.draw(random.Random(seed))
        schema = task.function["parameters"]
        seen[len(task.values)] += 1
        assert len({json.dumps(each) for each in task.values}) == len(task.values)
        for arguments in task.values:
            assert arguments
            assert set(schema["required"]) <= set(arguments) <= set(schema["properties"])
            for name, value in arguments.items():
                assert isinstance(value, kinds[schema["properties"][name]["type"]])
        assert len({tuple(arguments) for arguments in task.values}) == 1
    assert seen[1] > seen[2] > seen[3] > 0


def test_a_task_reads_as_its_examples_do(drawing: Drawing) -> None:
    task = next(t for n in range(400) if len((t := drawing.draw(random.Random(n))).values) == 2)
    head, *lines = task.text.split("\n")
    assert head == f"{task.function['description']}, twice"
    assert lines.count("and") == 1
    assert all(line == "and" or " = " in line for line in lines)


def test_added_parameters_have_values_of_their_kind() -> None:
    for name, extra in EXTRAS.items():
        for value in extra.values:
            enum = extra.schema.get("enum", [value])
            assert value in enum, name


@pytest.mark.parametrize(
    ("text", "value", "expected"),
    [
        ("Rooms in OSLO", "Oslo", True),
        ("Rooms in Bergen", "Oslo", False),
        ("pay 1,000 now", 1000, True),
        ("pay 10000 now", 1000, False),
        ("pay 100.5 now", 100, False),
        ("pay 100. Now", 100, True),
        ("for four people", 4, True),
        ("for fourteen people", 4, False),
        ("for 14 people", 4, False),
        ("2.5 litres", 2.5, True),
        ("12.5 litres", 2.5, False),
        ("one and 2", [1, 2], True),
        ("only one", [1, 2], False),
        ("anything", True, True),
        ("minus one", -1, False),
        ("Smith, John", "Smith John", True),
    ],
)
def test_a_message_is_kept_only_if_it_says_every_value(text: str, value: Any, expected: bool) -> None:
    assert mentions(text, [{"argument": value}]) == expected


@given(st.lists(st.dictionaries(st.text(max_size=3), st.integers() | st.text(max_size=5), max_size=3), max_size=3))
def test_a_message_of_all_values_says_them(values: list[dict[str, Any]]) -> None:
    assert mentions(" ; ".join(str(value) for each in values for value in each.values()), values)


def test_broken_messages_are_marked(drawing: Drawing) -> None:
    task = drawing.draw(random.Random(1))
    said = " ".join(str(value).strip("[]").replace("'", "") for each in task.values for value in each.values())
    assert message_row(task, Message(said, True))["ok"]
    assert not message_row(task, Message(said, False))["ok"]
    assert not message_row(task, Message(f"{said}\nand", True))["ok"]
    assert not message_row(task, Message("", True))["ok"]


def growing(out: Path) -> AbstractContextManager[tuple[Journal[dict[str, Any]], Progress]]:
    return Growing(out, "stage", {}, [], [], lambda rows: {}).opened()


class Echo:
    """Says what it was told, in order; dies when told to."""

    def __init__(self, dies_at: int = -1) -> None:
        self._left = dies_at

    def write(self, tasks: Sequence[str], seed: int) -> list[Message]:
        if self._left == 0:
            raise KeyboardInterrupt
        self._left -= 1
        return [Message(f"{seed}: {' '.join(task.split())}", True) for task in tasks]


def test_a_file_that_was_interrupted_ends_up_the_same(tmp_path: Path, drawing: Drawing) -> None:
    once, twice = tmp_path / "once.jsonl", tmp_path / "twice.jsonl"
    with growing(once) as (journal, _):
        write_batches(drawing, Echo(), journal, 3 * BATCH + 5, 1, Progress())
    with pytest.raises(KeyboardInterrupt), growing(twice) as (journal, _):
        write_batches(drawing, Echo(dies_at=2), journal, 3 * BATCH + 5, 1, Progress())
    twice.write_bytes(twice.read_bytes()[:-900])
    with growing(twice) as (journal, _):
        write_batches(drawing, Echo(), journal, 3 * BATCH + 5, 1, Progress())
    assert once.read_bytes() == twice.read_bytes()
    rows = read_back(once)
    assert len(rows) == 3 * BATCH + 5
    assert [row["text"].split(":")[0] for row in rows[::BATCH]] == ["100000", "100001", "100002", "100003"]
    assert rows[0].keys() == {"ok", "text", "field", "function", "values"}


def test_phrases_need_no_model_and_say_what_a_batch_asks_for(tmp_path: Path, drawing: Drawing) -> None:
    out = tmp_path / "messages.jsonl"
    options = SynthesiseOptions("phrases", tmp_path, out, 2 * BATCH + 3, seed=77)
    assert synthesise(options)[0].endswith("6 functions were drawn from")
    expected = []
    for number in range(3):
        tasks = batch(drawing, 77, number)
        messages = Phrases().write([task.text for task in tasks], 7_700_000 + number)
        expected += [message_row(task, message) for task, message in zip(tasks, messages, strict=True)]
    rows = read_back(out)
    assert rows == expected[: 2 * BATCH + 3]
    assert sum(row["ok"] for row in rows) > 0.9 * len(rows)
    manifest = json.loads((tmp_path / "messages.jsonl.manifest.json").read_text())
    assert manifest["options"] == {"writer": "phrases", "seed": 77, "count": 2 * BATCH + 3, "eval": []}


@pytest.mark.parametrize(
    ("task", "expected"),
    [
        ('Find songs\nartist = "Nina Simone"\nmaxCount = 3', ["ind songs", "Nina Simone", "3"]),
        ("Mow, twice\nheight = 2\nand\nheight = 3", ["ow", "2", "; then", "3"]),
        ('Tag it\ntags = ["a", "b", "c"]\nloud = false', ["ag it", "a, b and c", "without loud"]),
        ("List tools\n", ["ist tools"]),
    ],
)
def test_phrases_are_one_sentence_with_every_value(task: str, expected: list[str]) -> None:
    for seed in range(20):
        (message,) = Phrases().write([task], seed)
        assert message.finished
        assert "\n" not in message.text
        text = message.text.replace('"', "")  # some values are quoted
        places = [text.find(part) for part in expected]
        assert places == sorted(places)
        assert places[0] >= 0


def test_a_file_goes_on_as_it_was_begun(tmp_path: Path, drawing: Drawing) -> None:
    out = tmp_path / "messages.jsonl"
    synthesise(SynthesiseOptions("phrases", tmp_path, out, 3))
    with pytest.raises(OospecError, match="seed was 0 and is 1; name another file, or remove it"):
        synthesise(SynthesiseOptions("phrases", tmp_path, out, 5, seed=1))
    with pytest.raises(OospecError, match="writer was phrases and is other"):
        synthesise(SynthesiseOptions("other", tmp_path, out, 5))
    synthesise(SynthesiseOptions("phrases", tmp_path, out, 5))
    assert len(read_back(out)) == 5


def test_a_writer_that_is_not_there_leaves_no_file(tmp_path: Path, drawing: Drawing) -> None:
    out = tmp_path / "messages.jsonl"
    with pytest.raises(OospecError, match="no such directory"):
        synthesise(SynthesiseOptions("./none", tmp_path, out, 3, devices="cpu"))
    assert not out.exists()


def test_without_a_function_to_draw_nothing_is_written(tmp_path: Path, drawing: Drawing) -> None:
    names = [function(tool["api_name"]) for tool in SEAL]
    known = write_rows(tmp_path / "eval.jsonl", asking("a", *names, gold=[]))
    with pytest.raises(OospecError, match="no function can be drawn that no --eval set has"):
        synthesise(SynthesiseOptions("phrases", tmp_path, tmp_path / "out", 3, [f"openai:{known}"]))


def test_a_batch_does_not_depend_on_those_before(drawing: Drawing) -> None:
    tasks = batch(drawing, 2, 7)
    assert tasks == batch(drawing, 2, 7) != batch(drawing, 2, 8)
    assert [len(task.text) for task in tasks] == sorted(len(task.text) for task in tasks)
