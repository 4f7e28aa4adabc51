"""``oospec-train eval``: files of guesses to scores by set."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from rich.console import Console
from rich.table import Table

from oospec_async.errors import OospecError
from oospec_async.request import parse_request
from oospec_async.training.evaluate import Score, accepted_calls, by_source, made_calls
from oospec_async.training.readers.base import Object
from oospec_async.training.reply import asked
from oospec_async.training.stage import read_lines


def judge_files(guesses: Path, requests: Path, calls: Path | None) -> Mapping[str, Score]:
    """Scores by source. Without ``calls`` by ``accepted``, or by ``gold`` where a row has only that; requests for which
    nothing is known, or nothing was guessed, are left out. Raises OospecError.
    """
    guessed = {
        (row.data["id"], row.data["asked"]): row.data["calls"] for row in read_lines(guesses, "id", "asked", "calls")
    }
    made = (
        {(row.data["id"], row.data["asked"]): row.data for row in read_lines(calls, "id", "asked", "calls")}
        if calls
        else None
    )

    def pairs() -> Iterator[tuple]:  # type: ignore[type-arg]
        for row in read_lines(requests, "id"):
            request = parse_request(row.data, row.where)
            key = request.id, asked(request)
            if key not in guessed:
                continue
            source = str(row.data.get("source", requests.stem))
            if made is not None:
                if key in made:
                    known = [c for c in made[key]["calls"] if request.tool(c["name"]) is not None]
                    yield source, request, guessed[key], made_calls(known)
            elif "accepted" in row.data:
                yield source, request, guessed[key], accepted_calls(row.data)
            elif "gold" in row.data:
                yield source, request, guessed[key], made_calls(row.data["gold"])

    scores = by_source(pairs())
    if not scores:
        raise OospecError(f"{guesses}: no guess is for a request of {requests} whose answer is known")
    return scores


def print_scores(scores: Mapping[str, Score], as_json: bool) -> None:
    """A table on stdout, or JSON."""
    rows: dict[str, Object] = {source: score.as_json() for source, score in scores.items() if score.requests}
    if as_json:
        print(json.dumps(rows))
        return
    table = Table()
    for name in ("set", *next(iter(rows.values()), {})):
        table.add_column(name, justify="left" if name == "set" else "right")
    for source, row in rows.items():
        table.add_row(
            source, *(f"{v:.1%}" if isinstance(v, float) else "-" if v is None else str(v) for v in row.values())
        )
    Console().print(table)
