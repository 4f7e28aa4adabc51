"""Requests and calls to training rows: every question of a wave, with the answer that it should get."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

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
from oospec_async.training.data.readers.base import Notes, Object, needed, refers
from oospec_async.training.data.sources import read_evaluation
from oospec_async.training.data.splits import Split, common_split, split_of
from oospec_async.training.data.training_rows import Kind, Taught
from oospec_async.training.stage import check_output, progress, read_lines, write_output
from oospec_async.training.teach.reply import Key, key_of

Call = tuple[str, Mapping[str, Json]]


def valid(calls: Json, request: Request, gold: Sequence[Call] | None) -> bool:
    """Whether a teacher's calls can be taught: the functions of gold in its order (without gold: functions on offer).

    Arguments must be in the schema, and those that it requires must be there.
    """
    if not isinstance(calls, list) or not all(isinstance(call, dict) for call in calls):
        return False
    names = [call.get("name") for call in calls]
    expected = [name for name, _ in gold] if gold is not None else names
    if not names and gold is None:
        return False
    return names == expected and all(_fits(call, request) for call in calls)


def _fits(call: Object, request: Request) -> bool:
    tool, arguments = request.tool(str(call.get("name"))), call.get("arguments")
    if tool is None or not isinstance(arguments, dict):
        return False
    known = {slot.name: slot.required for slot in tool.slots}
    return set(arguments) <= set(known) and {name for name, required in known.items() if required} <= set(arguments)


def questions(request: Request, calls: Sequence[Call], where: str, notes: Notes) -> Iterator[Taught]:
    """Rows of a request that is answered by ``calls``; a value that is another call's result makes no row."""
    for number, (name, _) in enumerate(calls, start=1):
        yield _row("function", function_question(number), name_text(name), chosen=True)
    yield _row("function", function_question(len(calls) + 1), name_text(NONE), chosen=True)
    for tool in request.tools:
        mine = [arguments for name, arguments in calls if name == tool.name]
        for number, arguments in enumerate(mine or [{}], start=1):
            yield from _arguments(tool, number, arguments, bool(mine), where, notes)
    if any(refers(arguments) for _, arguments in calls):
        notes.add("call with another call's result; no row for the whole answer", where)
        return
    whole = [{"name": name, "arguments": dict(arguments)} for name, arguments in calls]
    yield _row("call", whole_question(), answer_text(whole), chosen=True)


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


class RowMaker:
    """Decides for each request whose calls are taught, which split it is of, and what it may show."""

    def __init__(self, answers: Mapping[Key, Json], known: Evaluation, notes: Notes) -> None:
        """``answers``: a teacher's calls."""
        self._answers = answers
        self._notes = notes
        self._cleaner = Cleaner(known, notes)

    def made(self, raw: Object, where: str) -> Object | None:
        """A line of the output, or None if the request is left out (counted)."""
        request = parse_request(raw, where)
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

    def _calls(self, raw: Object, request: Request, where: str) -> tuple[list[Call], bool] | None:
        gold = _gold(raw, where)
        answered = self._answers.get(key_of(request))
        if answered is not None and valid(answered, request, gold):
            self._notes.add("calls of the teacher; taken", where)
            return [(call["name"], call["arguments"]) for call in answered], True
        reason = "no teacher's calls" if answered is None else "teacher's calls that are not valid"
        if gold is None:
            self._notes.add(f"{reason}, and no gold; request left out", where)
            return None
        if any(request.tool(name) is None for name, _ in gold):
            self._notes.add("gold calls a function that is not on offer; request left out", where)
            return None
        self._notes.add(f"{reason}; gold taken", where)
        return gold, False

    def _placed(self, raw: Object, calls: Sequence[Call], where: str) -> tuple[Split, Object] | None:
        """The split, and the request as it is trained on: no function of an evaluation set or of another split."""
        gold = [{"name": name, "arguments": dict(arguments)} for name, arguments in calls]
        shown = self._cleaner.cleaned({**_question(raw), "gold": gold}, where)
        if shown is None:
            return None
        called, names = {name for name, _ in calls}, [function_of(tool)["name"] for tool in shown["tools"]]
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


def _gold(raw: Object, where: str) -> list[Call] | None:
    if "gold" not in raw:
        return None
    return [
        (needed(call, "name", str, f"{where}: gold"), needed(call, "arguments", dict, f"{where}: gold"))
        for call in needed(raw, "gold", list, where)
    ]


def rows_file(requests: Sequence[Path], calls: Sequence[Path], evaluation: Sequence[str], out: Path) -> list[str]:
    """Write one line a request: ``id``, ``source``, ``teacher`` (whether its calls were taken), ``split``, ``request``
    and ``rows``; return lines that say what was done. Raises OospecError naming the file, line and field.
    """
    check_output(out, *requests, *calls)
    answered = [row for path in calls for row in read_lines(path, "id", "asked", "calls")]
    answers = {(row.need("id", str), row.need("asked", str)): row.data["calls"] for row in answered}
    known, files = read_evaluation(evaluation)
    notes, made = Notes(), list[Object]()
    maker, seen = RowMaker(answers, known, notes), set[str]()
    with progress() as bar:
        for row in bar.track([row for path in requests for row in read_lines(path, "id")], description="requests"):
            if row.need("id", str) in seen:
                notes.add("id used before; request left out", row.where)
                continue
            seen.add(row.data["id"])
            line = maker.made(row.data, row.where)
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
