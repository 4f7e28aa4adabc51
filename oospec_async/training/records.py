"""Rows as values: what is checked once, where a row is read, and not again."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from oospec_async.files.validation import M, validated
from oospec_async.request import Json

Object = dict[str, Json]


class Record(BaseModel):
    """The fields that a row must have; what else it has is of no concern."""

    model_config = ConfigDict(strict=True, frozen=True, extra="ignore")


class Call(Record):
    """A call that is right, that a model has made, or that it is to make."""

    name: str
    arguments: dict[str, Json]


class Answered(Record):
    """What the line of a request says of its answer."""

    gold: list[Call] | None = None


@dataclass(frozen=True)
class Row:
    """One row of a source. ``where`` names its file and line; ``name`` is an id for it if it has none."""

    where: str
    name: str
    data: Object

    def read(self, kind: type[M]) -> M:
        """What is needed of it. Raises OospecError naming the field."""
        return validated(kind, self.data, self.where, "a row")
