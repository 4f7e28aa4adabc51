"""Reading a source: JSON Lines or one JSON array, plain or gzip."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from oospec_async.errors import OospecError
from oospec_async.files.json_text import json_lines, load_json
from oospec_async.files.reading import decoded, read_unpacked
from oospec_async.training.records import Row

_SUFFIXES = r"\.jsonl?(\.gz)?$"


def stem(path: Path) -> str:
    """The file's name without ``.json``, ``.jsonl`` and ``.gz``."""
    return re.sub(_SUFFIXES, "", path.name)


def beside(path: Path, folder: str) -> Path | None:
    """The file of the same name in a folder beside ``path``, whatever its suffix."""
    endings = (".json", ".jsonl", ".json.gz", ".jsonl.gz")
    names = [path.parent / folder / (stem(path) + ending) for ending in endings]
    return next((name for name in names if name.exists()), None)


def read_rows(path: Path, *, growing: bool = False) -> Iterator[Row]:
    """The rows of a file. Raises OospecError naming the file and the line (in an array: the row, from 1).

    ``growing``: the file may be being written; a last line without its end is left out.
    """
    text = decoded(read_unpacked(path, "rows"), path)
    if growing:
        text = text[: text.rfind("\n") + 1]
    empty = True
    is_array = text.lstrip().startswith("[")
    rows = _array(path, text) if is_array else json_lines(text, path, "one row a line")
    for number, where, value in rows:
        empty = False
        if not isinstance(value, dict):
            raise OospecError(f"{where}: a row is a JSON object, not {type(value).__name__}")
        yield Row(where, f"{stem(path)}-{number}", value)
    if empty:
        raise OospecError(f"{path}: no rows in this file")


def _array(path: Path, text: str) -> Iterator[tuple[int, str, object]]:
    for number, value in enumerate(load_json(text, str(path), "an array of rows"), start=1):
        yield number, f"{path}: row {number}", value
