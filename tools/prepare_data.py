"""Rows of public tool-calling sets to request lines: `python -m tools.prepare_data FORMAT SOURCE [--out FILE]`.

Where a row is malformed, the rule that was applied is counted on stderr.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path

import click

from oospec_async.console.command import run_command
from oospec_async.console.options import COUNT, PATH
from oospec_async.errors import OospecError
from oospec_async.files.writing import check_outputs, write_atomically
from oospec_async.request import parse_request
from oospec_async.training.data.readers import FORMATS
from oospec_async.training.data.readers.base import Format, check_gold
from oospec_async.training.notes import Ids, Notes
from oospec_async.training.records import Object
from oospec_async.training.row_files import read_rows


def prepare(made: Format, path: Path, notes: Notes, *, even: bool) -> Iterator[list[Object]]:
    """The requests of each row. Raises OospecError naming the file, line and field."""
    ids = Ids(notes)
    for row in read_rows(path):
        requests = []
        for raw in made.requests(row):
            raw.pop("accepted", None)  # gold is what a benchmark compares with
            raw["id"] = ids.unique(raw["id"], row.where)
            check_gold(parse_request(raw, row.where), raw.get("gold", []), row.where, notes)
            if not even or is_even(raw["id"]):
                requests.append(raw)
        if requests or not even:
            yield requests


def is_even(name: str) -> bool:
    """Whether the last bit of its SHA-1 is 0: a half of any set that depends on nothing but the names."""
    return hashlib.sha1(name.encode("utf-8", "backslashreplace"), usedforsecurity=False).digest()[-1] % 2 == 0


def share_tools(requests: Sequence[Object], size: int, notes: Notes) -> list[Object]:
    """Each ``size`` requests in turn with the tools of all of them, as an agent sends the same list every time.

    A request that has another tool by a name that is in the list already is left out. Raises OospecError for a
    request whose tools are part of its text.
    """
    groups: list[tuple[list[Object], dict[str, Object]]] = []  # requests, and their tools by name
    for request in requests:
        if request.get("tools_in_prompt"):
            raise OospecError(
                f"--share-tools: request {request['id']!r} has its tools in its text; leave the option out"
            )
        if not groups or len(groups[-1][0]) == size:
            groups.append(([], {}))
        members, tools = groups[-1]
        own = {tool["function"]["name"]: tool for tool in request["tools"]}
        if any(tools.get(name, tool) != tool for name, tool in own.items()):
            notes.add("tool is not the one of this name in the shared list: request left out", request["id"])
            continue
        tools.update(own)
        members.append(request)
    return [{**each, "tools": list(tools.values())} for members, tools in groups for each in members]


@click.command(epilog=f"Formats: {', '.join(sorted(FORMATS))}.")
@click.argument("format_", metavar="FORMAT", type=click.Choice(sorted(FORMATS)))
@click.argument("source", type=PATH)
@click.option("--limit", type=COUNT, help="Take the first so many rows.")
@click.option("--even-ids", is_flag=True, help="Only requests whose id has an even SHA-1, before any --limit.")
@click.option("--out", type=PATH, help="Write here, whole or not at all; default: stdout.")
@click.option(
    "--share-tools",
    "size",
    type=click.IntRange(min=2),
    help="Give each so many requests in turn the tools of them all.",
)
def command(
    format_: str,
    source: Path,
    limit: int | None,
    even_ids: bool,
    out: Path | None,
    size: int | None,
) -> None:
    """Turn rows of a public tool-calling set into requests, one JSON object a line.

    SOURCE is a .json, .jsonl or .jsonl.gz file.
    """
    notes = Notes()
    made = FORMATS[format_](source, notes)
    check_outputs([source, *made.beside], {"--out": out})
    rows = prepare(made, source, notes, even=even_ids)
    requests = list(chain.from_iterable(islice(rows, limit)))
    if size is not None:
        requests = share_tools(requests, size, notes)
    text = "".join(json.dumps(request, ensure_ascii=False) + "\n" for request in requests)
    if out is not None:
        write_atomically(out, text, "--out")
    else:
        sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace"))  # in any locale
        sys.stdout.buffer.flush()
    for line in notes.lines():
        print(f"note: {line}", file=sys.stderr)
    print(f"{source}: {len(requests)} requests", file=sys.stderr)


def main(argv: Sequence[str] | None = None) -> int:
    """0: done, 2: bad input, which one line on stderr names, 130: interrupted."""
    return run_command(command, "python -m tools.prepare_data", argv)


if __name__ == "__main__":
    sys.exit(main())
