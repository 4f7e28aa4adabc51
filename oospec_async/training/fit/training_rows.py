"""Training rows as they are read: checked once, so that no step of a long run fails on one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from oospec_async.errors import OospecError
from oospec_async.request import parse_request
from oospec_async.training.data.readers.base import Object, Row, needed
from oospec_async.training.data.splits import Split
from oospec_async.training.stage import read_lines

_SPLITS: tuple[Split, ...] = get_args(Split)
_KINDS = ("function", "argument", "call")


def read_training_rows(paths: Sequence[Path]) -> list[Row]:
    """Lines that ``oospec-train rows`` has written. Raises OospecError naming file, line and field."""
    rows = [row for path in paths for row in read_lines(path, "id", "split", "teacher", "request", "rows")]
    for row in rows:
        _check(row)
    return rows


def _check(row: Row) -> None:
    row.need("id", str)
    row.need("teacher", bool)
    _among(row.data, "split", _SPLITS, row.where)
    parse_request(row.need("request", dict), f"{row.where}: request")
    for number, each in enumerate(row.need("rows", list)):
        where = f"{row.where}: rows.{number}"
        if not isinstance(each, dict):
            raise OospecError(f"{where}: an object is expected, not {type(each).__name__}")
        _among(each, "kind", _KINDS, where)
        needed(each, "chosen", bool, where)
        for name in ("stem", "ask", "answer"):
            if not needed(each, name, str, where):
                raise OospecError(f"{where}: {name}: is empty; make the rows again")


def _among(data: Object, name: str, known: Sequence[str], where: str) -> None:
    value = needed(data, name, str, where)
    if value not in known:
        raise OospecError(f"{where}: {name}: {value!r} is none of {', '.join(known)}")
