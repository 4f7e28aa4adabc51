"""Finished rows of a study, kept in a JSON Lines file so that an interrupted study can go on."""

from __future__ import annotations

import hashlib
import json
from importlib import metadata
from pathlib import Path
from typing import Any

from oospec_async.files.journal import Header, Journal
from oospec_async.files.json_text import load_json
from oospec_async.files.reading import read_bytes
from sim.study.spec import Study

Row = dict[str, Any]


def fingerprint(study: Study) -> str:
    """Of everything that rows depend on; assertions are not part of it."""
    digest = hashlib.sha256(metadata.version("oospec").encode())
    for path in (study.trace, study.colocated):
        if path is not None:
            digest.update(hashlib.sha256(read_bytes(path, "the trace")).digest())
    digest.update(json.dumps([scenario.as_json() for scenario in study.scenarios]).encode())
    return digest.hexdigest()


def open_rows(path: Path, study: Study) -> Journal[Row]:
    """Rows in the order of the scenarios; the file begins with the fingerprint.

    Raises OospecError if the file is there and belongs to something else, is held by another process, or
    cannot be written.
    """
    head = json.dumps({"study": study.name, "fingerprint": fingerprint(study)})
    return Journal(path, "--rows", _row, json.dumps, Header(head, "rows of this study, trace and version"))


def _row(line: bytes, where: str) -> Row:
    row: Row = load_json(line.decode("utf-8", "replace"), where, "a row of a study")
    return row
