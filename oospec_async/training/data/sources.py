"""Public sets to requests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from oospec_async.errors import OospecError
from oospec_async.request import Json, parse_request
from oospec_async.training.data.decontaminate import Cleaner, Evaluation
from oospec_async.training.data.readers import FORMATS
from oospec_async.training.data.readers.base import check_gold
from oospec_async.training.notes import Ids, Notes
from oospec_async.training.records import Object
from oospec_async.training.row_files import read_rows, stem
from oospec_async.training.stage import check_output, progress, write_output


def parse_source(text: str) -> tuple[str, Path]:
    """``FORMAT:PATH``. Raises OospecError."""
    name, _, path = text.partition(":")
    if name not in FORMATS or not path:
        raise OospecError(f"source {text!r}: FORMAT:PATH is expected, with one of {', '.join(sorted(FORMATS))}")
    return name, Path(path)


class Source:
    """One file of a public set."""

    def __init__(self, text: str, notes: Notes) -> None:
        """``text``: ``FORMAT:PATH``. Raises OospecError."""
        name, self.path = parse_source(text)
        self.name = f"{name}/{stem(self.path)}"
        self._notes = notes
        self._reader = FORMATS[name](self.path, notes)
        self.files = [self.path, *self._reader.beside]

    def requests(self) -> Iterator[tuple[str, Object]]:
        """Where a request stands, and the request; checked. Raises OospecError naming the file, line and field."""
        for row in read_rows(self.path):
            for raw in self._reader.requests(row):
                check_gold(parse_request(raw, row.where), raw.get("gold", []), row.where, self._notes)
                yield row.where, {**raw, "source": self.name}


def read_evaluation(texts: Sequence[str]) -> tuple[Evaluation, list[Path]]:
    """What the evaluation sets hold, and the files that it was read from. Raises OospecError."""
    sources = [Source(text, Notes()) for text in texts]
    rows = (row for source in sources for _, row in source.requests())
    return Evaluation.of(rows), [path for source in sources for path in source.files]


def sources_file(train: Sequence[str], evaluation: Sequence[str], out: Path) -> list[str]:
    """Write requests with gold; those to train on are free of what the evaluation sets hold. Lines say what was done.

    Training rows come first. Evaluation rows have ``split: eval`` and ``accepted``. Raises OospecError.
    """
    check_output(out, *(parse_source(text)[1] for text in [*train, *evaluation]))
    notes = Notes()
    to_train, to_evaluate = ([Source(text, notes) for text in texts] for texts in (train, evaluation))
    evaluated = [found for source in to_evaluate for found in source.requests()]
    cleaner = Cleaner(Evaluation.of(row for _, row in evaluated), notes)
    kept: list[tuple[str, Object]] = []
    with progress() as bar:
        for source in bar.track(to_train, description="training sets"):
            cleaned = ((where, cleaner.cleaned(row, where)) for where, row in source.requests())
            kept += [(where, row) for where, row in cleaned if row is not None]
    ids = Ids(notes)
    made = [{**row, "id": ids.unique(row["id"], where)} for where, row in kept]
    made += [{**row, "id": ids.unique(row["id"], where), "split": "eval"} for where, row in evaluated]
    counts: dict[str, Json] = {f"training requests of {name}": n for name, n in _by_source(kept).items()}
    counts |= {f"evaluation requests of {name}": n for name, n in _by_source(evaluated).items()}
    said = [f"{name}: {count}" for name, count in counts.items()]
    counts["functions removed for an evaluation set"] = sorted(cleaner.removed)
    files = [path for source in (*to_train, *to_evaluate) for path in source.files]
    write_output(out, made, "sources", {"train": list(train), "eval": list(evaluation)}, files, counts, notes)
    names = f": {', '.join(sorted(cleaner.removed))}" if cleaner.removed else ""
    removed = f"{len(cleaner.removed)} functions of training sets are in an evaluation set{names}"
    return [*(f"note: {line}" for line in notes.lines()), *said, removed]


def _by_source(rows: Iterable[tuple[str, Object]]) -> dict[str, int]:
    return dict(Counter(row["source"] for _, row in rows))
