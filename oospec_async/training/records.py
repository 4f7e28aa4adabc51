"""Rows as values: what is checked once, where a row is read, and not again."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

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
