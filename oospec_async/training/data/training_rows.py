"""Training rows, as they are written and as they are read: checked once, so that no step of a long run fails on one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from oospec_async.request import Request
from oospec_async.training.data.splits import Split
from oospec_async.training.records import Record
from oospec_async.training.stage import read_records

Kind = Literal["function", "argument", "call"]
_Text = Annotated[str, Field(min_length=1)]


class Taught(Record):
    """One question of a wave, and the answer that it should get; ``chosen``: of a function that is called."""

    kind: Kind
    stem: _Text
    ask: _Text
    answer: _Text
    chosen: bool


class TrainingRow(Record):
    """A request and its questions; ``teacher``: the answers are a teacher's calls, not gold."""

    id: str
    split: Split
    teacher: bool
    request: Request
    rows: list[Taught]


def read_training_rows(paths: Sequence[Path]) -> list[TrainingRow]:
    """Lines that ``oospec-train rows`` has written. Raises OospecError naming file, line and field."""
    return [row for path in paths for _, row in read_records(path, TrainingRow)]
