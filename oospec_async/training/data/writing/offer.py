"""Synthesised messages to requests: which functions are on offer beside the one that is meant."""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from oospec_async.training.data.decontaminate import Evaluation, name_keys, prompt_key
from oospec_async.training.data.sources import read_evaluation
from oospec_async.training.data.splits import Split, split_of
from oospec_async.training.data.writing.seal_pool import SealPool, SealTool, kept, pool_files, read_pool
from oospec_async.training.data.writing.widen import widened
from oospec_async.training.notes import Notes
from oospec_async.training.records import Object, Record
from oospec_async.training.stage import check_output, read_records, write_output

_MOST = 5  # functions on offer
_SAME_AREA = 0.5  # share of distractors from the area of a function that is meant
_JOINED = 0.22  # share of messages that become half of a request for two functions


class Written(Record):
    """A message that asks for one function: its calls' arguments, and the field that the function is of."""

    text: str
    field: str
    function: Object
    values: list[Object]
    ok: bool

    @property
    def name(self) -> str:
        return str(self.function.get("name"))

    @property
    def key(self) -> str:
        """The same for the same content, wherever it stands."""
        return _digest(self.text, self.name, self.values)

    @property
    def split(self) -> Split:
        return split_of(self.name)

    @property
    def calls(self) -> list[Object]:
        return [{"name": self.name, "arguments": arguments} for arguments in self.values]


class Shelf:
    """The functions that distractors are taken from: those for which messages could have been written too.

    A request takes them from the split of the function that is meant, so that no split shows another's functions.
    """

    def __init__(self, pool: SealPool, evaluation: Evaluation) -> None:
        self._pool = pool
        usable = pool.usable()
        self._tools = kept(usable, evaluation)
        self.removed = sorted({tool.name for tool in usable} - {tool.name for tool in self._tools})
        self._splits: defaultdict[Split, list[SealTool]] = defaultdict(list)
        self._areas: defaultdict[tuple[Split, str], list[SealTool]] = defaultdict(list)
        for tool in self._tools:
            self._splits[split_of(tool.name)].append(tool)
            self._areas[split_of(tool.name), tool.area].append(tool)

    def __len__(self) -> int:
        return len(self._tools)

    def distractors(self, meant: Sequence[Written], count: int, rng: random.Random) -> list[Object]:
        """Other functions, widened as those that are meant have been; names differ in more than case."""
        taken = set().union(*(name_keys(written.name) for written in meant))
        areas = [self._areas[written.split, written.field.split("/")[0]] for written in meant]
        made: list[Object] = []
        for _ in range(count):
            near = rng.choice(areas)
            shelf = near if near and rng.random() < _SAME_AREA else self._splits[meant[0].split]
            free = [tool for tool in shelf if taken.isdisjoint(name_keys(tool.name))]
            if not free:
                continue
            tool = rng.choice(free)
            taken |= name_keys(tool.name)
            made.append(widened(tool, self._pool, rng))
        return made


def offered(meant: Sequence[Written], shelf: Shelf, seed: int) -> Object:
    """A request for the functions that are meant, among 1 to 5 in random order, with gold.

    Pure: drawn by ``seed`` and the content, so that the request (its id too) is the same however many others there are.
    """
    name = _digest(*(written.key for written in meant))
    rng = random.Random(f"offer:{seed}:{name}")
    count = rng.randint(len(meant), _MOST) - len(meant)
    functions = [written.function for written in meant] + shelf.distractors(meant, count, rng)
    rng.shuffle(functions)
    return {
        "id": f"written-{name}",
        "messages": [{"role": "user", "content": joined([written.text for written in meant])}],
        "tools": [{"type": "function", "function": function} for function in functions],
        "gold": [call for written in meant for call in written.calls],
        "source": "written",
    }


# First words that are no name, so that they lose their capital letter inside a sentence.
_OPENER = re.compile(
    r"(?:a|all|am|any|are|calculate|can|check|compare|could|create|delete|did|do|does|find|for|generate|get|give|has|have"
    r"|help|how|is|let|list|look|make|may|need|on|please|provide|register|retrieve|schedule|search|send|set|show|tell|the"
    r"|there|update|use|was|we|what|what's|when|where|which|who|will|with|would|you)\b",
    re.IGNORECASE,
)


def joined(texts: Sequence[str]) -> str:
    """Messages one after the other: ``…. Also, …``"""
    text = texts[0]
    for more in texts[1:]:
        if _OPENER.match(more):
            more = more[0].lower() + more[1:]
        text = f"{text if text.endswith(('.', '?', '!')) else text + '.'} Also, {more}"
    return text


def read_written(path: Path, evaluation: Evaluation, notes: Notes) -> Iterator[Written]:
    """The messages of a file that may be trained on, each once. Raises OospecError naming the file, line and field."""
    seen: set[str] = set()
    for where, written in read_records(path, Written):
        if not written.ok:
            notes.add("message that does not say every value; removed", where)
        elif evaluation.has_name(written.name):
            notes.add("function of an evaluation set; message removed", where)
        elif prompt_key(written.text) in evaluation.prompts:
            notes.add("prompt of an evaluation set; message removed", where)
        elif prompt_key(written.text) in seen:
            notes.add("message written before; removed", where)
        else:
            seen.add(prompt_key(written.text))
            yield written


def grouped(messages: Sequence[Written], seed: int, notes: Notes) -> Iterator[list[Written]]:
    """Messages that stand alone, and pairs of one split; a message's lot does not depend on those after it."""
    waiting: dict[Split, Written] = {}
    for written in messages:
        other = waiting.get(written.split)
        if random.Random(f"join:{seed}:{written.key}").random() >= _JOINED:
            yield [written]
        elif other is None:
            waiting[written.split] = written
        elif name_keys(other.name).isdisjoint(name_keys(written.name)):
            yield [waiting.pop(written.split), written]
        else:
            yield [written]
    for written in waiting.values():
        notes.add("message that found no second one to be joined with; left out", written.key)


def _digest(*parts: object) -> str:
    return hashlib.sha256(json.dumps(parts, ensure_ascii=False).encode("utf-8", "replace")).hexdigest()[:12]


def offer_file(
    messages: Sequence[Path], seal_tools: Path, evaluation: Sequence[str], seed: int, out: Path
) -> list[str]:
    """Apply ``offered`` to files of messages; lines that say what was done. Raises OospecError."""
    check_output(out, *messages)
    known, files = read_evaluation(evaluation)
    notes, rows = Notes(), []
    shelf = Shelf(read_pool(seal_tools), known)
    for path in messages:  # pairs within a file, so that one file's growth does not change another's requests
        for meant in grouped(list(read_written(path, known, notes)), seed, notes):
            row = offered(meant, shelf, seed)
            if known.has_prompt(row):
                notes.add("prompt of an evaluation set; message removed", row["id"])
            else:
                rows.append(row)
    rows = list({row["id"]: row for row in rows}.values())
    counts = {
        "requests": len(rows),
        "for two functions": sum(len({call["name"] for call in row["gold"]}) > 1 for row in rows),
        "functions on the shelf": len(shelf),
        "functions removed for an evaluation set": shelf.removed,
    }
    sources = [*messages, *pool_files(seal_tools), *files]
    write_output(out, rows, "offer", {"seed": seed, "eval": list(evaluation)}, sources, counts, notes)
    return [f"note: {text}" for text in notes.lines()] + [
        f"{len(rows)} requests, {len(shelf.removed)} functions removed"
    ]
