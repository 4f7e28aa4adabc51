"""``oospec-train eval``: files of guesses to scores by set."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from oospec_async.console.output import stdout
from oospec_async.console.table import Table, print_table
from oospec_async.errors import OospecError
from oospec_async.files.validation import validated
from oospec_async.request import Json, parse_request
from oospec_async.training.judge.answers import read_guesses, read_said
from oospec_async.training.judge.score import Expected, Score, exactly, judge
from oospec_async.training.records import Answered, Object, Row
from oospec_async.training.stage import read_lines
from oospec_async.training.teach.teacher import key_of


class _Answered(Answered):
    accepted: list[Expected] | None = None


def judge_files(guesses: Path, requests: Path, calls: Path | None) -> Mapping[str, Score]:
    """Scores by source. Without ``calls`` by ``accepted``, or by ``gold`` where a row has only that; requests for which
    no call is known, or nothing was guessed, are left out. Raises OospecError naming file, line and field.
    """
    guessed = read_guesses(guesses)
    said = read_said(calls) if calls is not None else None
    scores: defaultdict[str, Score] = defaultdict(Score)
    for row in read_lines(requests, "id"):
        request = parse_request(row.data, row.where)
        key = key_of(request)
        if said is None:
            expected = _by_rules(row)
        else:
            made = said[key].made(request) if key in said else None
            expected = exactly((call.function, call.arguments) for call in made or ())
        if expected and key in guessed:
            judge(request, guessed[key], expected, scores[str(row.data.get("source", requests.stem))])
    if not scores:
        raise OospecError(f"{guesses}: no guess is for a request of {requests} whose calls are known")
    return dict(scores)


def _by_rules(row: Row) -> Sequence[Expected]:
    answered = validated(_Answered, row.data, row.where, "a request")
    if answered.accepted is not None:
        return answered.accepted
    return exactly((call.name, call.arguments) for call in answered.gold or ())


def print_scores(scores: Mapping[str, Score], as_json: bool) -> None:
    """A table on stdout, or JSON."""
    found: dict[str, Object] = {source: score.as_json() for source, score in scores.items()}
    if as_json:
        print(json.dumps(found))
        return
    rows = [[source, *map(_share, rates.values())] for source, rates in found.items()]
    print_table(stdout(), Table("", ["set", *next(iter(found.values()))], rows))


def _share(value: Json) -> str:
    return f"{value:.1%}" if isinstance(value, float) else "-" if value is None else str(value)
