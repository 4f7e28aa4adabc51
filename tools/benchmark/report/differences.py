"""Whether outputs are the same ids, and how close the target's choice was where they are not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from oospec_async.commands.summary import departure
from tools.benchmark.rows import Contents, Row


@dataclass(frozen=True)
class Difference:
    """``position``: of the first token that differs. ``margin``: the logit gap there; None where no row has it."""

    request: str
    position: int
    margin: float | None
    runs: list[int]  # in which the output was this other one


def differences(contents: Contents, reference: str) -> dict[str, list[Difference]]:
    """By method, the outputs that are not the reference's of its first run."""
    truth: dict[str, list[int]] = {}  # by request
    for row in sorted(contents.rows.values(), key=lambda row: row.run):
        if row.method == reference and row.measured is not None:
            truth.setdefault(row.request, row.measured.tokens)
    by_request: dict[str, list[Row]] = {}
    for row in contents.rows.values():
        by_request.setdefault(row.request, []).append(row)
    found: dict[str, dict[tuple[str, int], list[int]]] = {}
    for row in contents.rows.values():
        if row.measured is None or row.request not in truth:
            continue
        position = departure(row.measured.tokens, truth[row.request])
        if position is not None:
            found.setdefault(row.method, {}).setdefault((row.request, position), []).append(row.run)
    return {
        method: [
            Difference(request, position, _margin(by_request[request], truth[request][:position]), sorted(runs))
            for (request, position), runs in entries.items()
        ]
        for method, entries in found.items()
    }


def _margin(rows: Sequence[Row], prefix: Sequence[int]) -> float | None:
    """After the same tokens every row has seen the same choice; the closest that one of them has seen."""
    place = len(prefix)
    margins = [
        row.measured.margins[place]
        for row in rows
        if row.measured is not None
        and place < len(row.measured.margins)
        and row.measured.tokens[:place] == list(prefix)
    ]
    return min(margins, default=None)
