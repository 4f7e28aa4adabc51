"""Training rows as they are read: checked once, so that no step of a long run fails on one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, Field, StrictBool

from oospec_async.files.validation import validated
from oospec_async.request import Request
from oospec_async.training.data.readers.base import Row
from oospec_async.training.data.splits import Split
from oospec_async.training.stage import read_lines

_Text = Annotated[str, Field(min_length=1)]


class _Question(BaseModel):
    kind: Literal["function", "argument", "call"]
    chosen: StrictBool
    stem: _Text
    ask: _Text
    answer: _Text


class _Line(BaseModel):
    id: str
    split: Split
    teacher: StrictBool
    request: Request
    rows: list[_Question]


def read_training_rows(paths: Sequence[Path]) -> list[Row]:
    """Lines that ``oospec-train rows`` has written. Raises OospecError naming file, line and field."""
    rows = [row for path in paths for row in read_lines(path, "id", "split", "teacher", "request", "rows")]
    for row in rows:
        validated(_Line, row.data, row.where, "a line of training rows")
    return rows
