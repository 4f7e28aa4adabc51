"""Requests and calls to training rows: every question of a wave, with the answer that it should get."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pydantic import ValidationError

from oospec_async.files.validation import validated
from oospec_async.request import Json, Request, Tool, parse_request
from oospec_async.sidecar.questions import (
    NONE,
    Question,
    Slot,
    answer_text,
    function_question,
    name_text,
    slot_question,
    whole_question,
)
from oospec_async.training.data.decontaminate import Cleaner, Evaluation, function_of
from oospec_async.training.data.readers.base import refers
from oospec_async.training.data.sources import read_evaluation
from oospec_async.training.data.splits import Split, common_split, split_of
from oospec_async.training.data.training_rows import Kind, Taught
from oospec_async.training.notes import Notes
from oospec_async.training.records import Answered, Call, Object, Record
from oospec_async.training.stage import check_output, progress, read_lines, read_records, write_output
from oospec_async.training.teach.teacher import Key, key_of


def valid(calls: Json, request: Request, gold: Sequence[Call] | None) -> list[Call] | None:
    """A teacher's calls if they can be taught: the functions of gold in its order (without gold: functions on offer).

    Arguments must be in the schema, and those that it requires must be there.
    """
    try:
        made = _Calls.model_validate({"calls": calls}).calls
    except ValidationError:
        return None
    names = [call.name for call in made]
    expected = [call.name for call in gold] if gold is not None else names
    if not names and gold is None:
        return None
    return made if names == expected and all(_fits(call, request) for call in made) else None


class _Calls(Record):
    calls: list[Call]


def _fits(call: Call, request: Request) -> bool:
    tool = request.tool(call.name)
    if tool is None:
        return False
    known = {slot.name: slot.required for slot in tool.slots}
    passed = call.arguments.keys()
    return passed <= known.keys() and passed >= {name for name, required in known.items() if required}


def questions(request: Request, calls: Sequence[Call], where: str, notes: Notes) -> Iterator[Taught]:
    """Rows of a request that is answered by ``calls``; a value that is another call's result makes no row."""
    for number, call in enumerate(calls, start=1):
        yield _row("function", function_question(number), name_text(call.name), chosen=True)
    yield _row("function", function_question(len(calls) + 1), name_text(NONE), chosen=True)
    for tool in request.tools:
        mine = [call.arguments for call in calls if call.name == tool.name]
        for number, arguments in enumerate(mine or [{}], start=1):
            yield from _arguments(tool, number, arguments, bool(mine), where, notes)
    if any(refers(call.arguments) for call in calls):
        notes.add("call with another call's result; no row for the whole answer", where)
        return
    yield _row("call", whole_question(), answer_text([call.model_dump() for call in calls]), chosen=True)


def _arguments(
    tool: Tool, number: int, arguments: Mapping[str, Json], chosen: bool, where: str, notes: Notes
) -> Iterator[Taught]:
    if set(arguments) - {slot.name for slot in tool.slots}:
        notes.add("argument that the schema lacks; no row for it", where)
    for slot in tool.slots:
        value = arguments.get(slot.name)
        if refers(value):
            notes.add("argument that is another call's result; no row for it", where)
            continue
        yield _row("argument", slot_question(Slot(tool.name, slot, number)), answer_text(value), chosen=chosen)


def _row(kind: Kind, question: Question, answer: str, *, chosen: bool) -> Taught:
    return Taught(kind=kind, stem=question.stem, ask=question.ask, answer=answer, chosen=chosen)


class _Said(Record):
    id: str
    asked: str
    calls: Json


class RowMaker:
    """Decides for each request whose calls are taught, which split it is of, and what it may show."""

    def __init__(self, answers: Mapping[Key, Json], known: Evaluation, notes: Notes) -> None:
        """``answers``: a teacher's calls."""
        self._answers = answers
        self._notes = notes
        self._cleaner = Cleaner(known, notes)

    def made(self, raw: Object, request: Request, where: str) -> Object | None:
        """A line of the output, or None if the request is left out (counted). ``raw``: the request as read."""
        found = self._calls(raw, request, where)
        if found is None:
            return None
        calls, teacher = found
        placed = ("eval", _question(raw)) if raw.get("split") == "eval" else self._placed(raw, calls, where)
        if placed is None:
            return None
        split, shown = placed
        asked = questions(parse_request(shown, where), calls, where, self._notes)
        rows = [each.model_dump() for each in asked]
        source = raw.get("source", "")
        return {"id": request.id, "source": source, "teacher": teacher, "split": split, "request": shown, "rows": rows}

    def _calls(self, raw: Object, request: Request, where: str) -> tuple[Sequence[Call], bool] | None:
        gold = validated(Answered, raw, where, "a request").gold
        key = key_of(request)
        if key in self._answers and (taught := valid(self._answers[key], request, gold)) is not None:
            self._notes.add("calls of the teacher; taken", where)
            return taught, True
        reason = "teacher's calls that are not valid" if key in self._answers else "no teacher's calls"
        if gold is None:
            self._notes.add(f"{reason}, and no gold; request left out", where)
            return None
        if any(request.tool(call.name) is None for call in gold):
            self._notes.add("gold calls a function that is not on offer; request left out", where)
            return None
        self._notes.add(f"{reason}; gold taken", where)
        return gold, False

    def _placed(self, raw: Object, calls: Sequence[Call], where: str) -> tuple[Split, Object] | None:
        """The split, and the request as it is trained on: no function of an evaluation set or of another split."""
        shown = self._cleaner.cleaned({**_question(raw), "gold": [call.model_dump() for call in calls]}, where)
        if shown is None:
            return None
        called, names = {call.name for call in calls}, [function_of(tool)["name"] for tool in shown["tools"]]
        split = common_split(called or names)
        if split is None:
            self._notes.add("functions of several splits; request left out", where)
            return None
        kept = [name in called or split_of(name) == split for name in names]
        if not all(kept):
            self._notes.add("function of another split on offer; removed", where)
            shown["tools"] = [tool for tool, keep in zip(shown["tools"], kept, strict=True) if keep]
        return split, _question(shown)


def _question(raw: Object) -> Object:
    return {key: raw[key] for key in ("id", "messages", "tools", "tools_in_prompt") if key in raw}


def rows_file(requests: Sequence[Path], calls: Sequence[Path], evaluation: Sequence[str], out: Path) -> list[str]:
    """Write one line a request: ``id``, ``source``, ``teacher`` (whether its calls were taken), ``split``, ``request``
    and ``rows``; return lines that say what was done. Raises OospecError naming the file, line and field.
    """
    check_output(out, *requests, *calls)
    answers = {(line.id, line.asked): line.calls for path in calls for _, line in read_records(path, _Said)}
    known, files = read_evaluation(evaluation)
    notes, made = Notes(), list[Object]()
    maker, seen = RowMaker(answers, known, notes), set[str]()
    with progress() as bar:
        for row in bar.track([row for path in requests for row in read_lines(path, "id")], description="requests"):
            request = parse_request(row.data, row.where)
            if request.id in seen:
                notes.add("id used before; request left out", row.where)
                continue
            seen.add(request.id)
            line = maker.made(row.data, request, row.where)
            made += [] if line is None else [line]
    counts = _counts(made)
    write_output(out, made, "rows", {"eval": list(evaluation)}, [*requests, *calls, *files], counts, notes)
    return [*(f"note: {text}" for text in notes.lines()), *(f"{name}: {count}" for name, count in counts.items())]


def _counts(made: Sequence[Object]) -> dict[str, int]:
    """Requests by split; rows by split and kind, those of functions that are not called apart."""
    counts: Counter[str] = Counter()
    for line in made:
        counts[f"{line['split']}: requests"] += 1
        for row in line["rows"]:
            counts[f"{line['split']}: {row['kind']} rows{'' if row['chosen'] else ', not chosen'}"] += 1
    return dict(sorted(counts.items()))
