"""``oospec-train eval``: files of guesses to scores by set."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from oospec_async.console.output import stdout
from oospec_async.console.table import Table, print_table
from oospec_async.errors import OospecError
from oospec_async.request import Json, Request, parse_request
from oospec_async.training.data.readers.base import Object, Row, needed
from oospec_async.training.judge.answers import key_of, made, read_guesses, read_said
from oospec_async.training.judge.evaluate import Expected, Judged, Score, accepted_calls, by_source, made_calls
from oospec_async.training.stage import read_lines


def judge_files(guesses: Path, requests: Path, calls: Path | None) -> Mapping[str, Score]:
    """Scores by source. Without ``calls`` by ``accepted``, or by ``gold`` where a row has only that; requests for which
    no call is known, or nothing was guessed, are left out. Raises OospecError naming file, line and field.
    """
    guessed = read_guesses(guesses)
    said = read_said(calls) if calls is not None else None

    def judged() -> Iterator[Judged]:
        for row in read_lines(requests, "id"):
            request = parse_request(row.data, row.where)
            expected = _by_rules(row) if said is None else _by_target(said.get(key_of(request)), request)
            if expected and key_of(request) in guessed:
                yield str(row.data.get("source", requests.stem)), request, guessed[key_of(request)], expected

    scores = by_source(judged())
    if not scores:
        raise OospecError(f"{guesses}: no guess is for a request of {requests} whose calls are known")
    return scores


def _by_target(said: Object | None, request: Request) -> list[Expected]:
    return made_calls(made(said, request) or ()) if said is not None else []


def _by_rules(row: Row) -> list[Expected]:
    if "accepted" in row.data:
        for number, call in enumerate(row.need("accepted", list)):
            where = f"{row.where}: accepted.{number}"
            _check_call(call, where)
            needed(call, "optional", list, where)
            if odd := [name for name, values in call["arguments"].items() if not isinstance(values, list)]:
                raise OospecError(f"{where}: arguments.{odd[0]}: a list of accepted values is expected")
        return accepted_calls(row.data)
    gold = row.need("gold", list) if "gold" in row.data else []
    for number, call in enumerate(gold):
        _check_call(call, f"{row.where}: gold.{number}")
    return made_calls(gold)


def _check_call(call: Json, where: str) -> None:
    if not isinstance(call, dict):
        raise OospecError(f"{where}: an object is expected, not {type(call).__name__}")
    needed(call, "name", str, where)
    needed(call, "arguments", dict, where)


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
