"""The wave: all slots of a request, and the function choice, decoded together in one tree over one shared prefix."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import torch

from oospec_async.decoding.text import Codec
from oospec_async.hints import Hint
from oospec_async.models.guide import Guide
from oospec_async.models.tree_model import TreeModel
from oospec_async.request import Request, Tool
from oospec_async.wave.answers import Answer, is_finished, join, read_answer
from oospec_async.wave.questions import Slot, SlotKey, function_question, prefix, slot_question

_LONGEST_ANSWER = 48  # tokens
_MOST_BRANCHES = 32  # with more slots than this, the function is chosen before its slots are asked for


@dataclass(frozen=True)
class Sidecar:
    """What every wave of one sidecar shares."""

    model: TreeModel
    codec: Codec
    guide: Guide
    end_tokens: frozenset[int]


@dataclass(frozen=True)
class Progress:
    """After one forward of the wave: what it was, how many branches it extended, and the hint if it changed."""

    kind: str  # "prefill" or "step"
    tokens: int
    hint: Hint | None = None


@dataclass
class _Branch:
    slot: Slot | None  # None: the function choice
    question: list[int]
    row: int = -1  # its last row in the tree
    answer: list[int] = field(default_factory=list)


class Wave:
    """One wave over one request. Iterate ``run``; stop iterating to cancel."""

    def __init__(self, sidecar: Sidecar, request: Request, example: str = "") -> None:
        """``example`` stands before the prefix; a sidecar that was trained for its questions needs none."""
        self._model, self._codec, self._guide = sidecar.model, sidecar.codec, sidecar.guide
        self._ends = sidecar.end_tokens
        self._request = request
        self._prefix = example + prefix(request)
        # With its line's end, no name is the beginning of another.
        self._names = {tool.name: self._codec.encode(f" {tool.name}\n") for tool in request.tools}
        self._function: str | None = None  # once chosen
        self._answers: dict[SlotKey, Answer] = {}
        self._version = 0

    def run(self) -> Iterator[Progress]:
        """Decode until every branch of the chosen function has ended; yields after every forward.

        Raises OospecError where the prefix or the branches exceed the sidecar's context.
        """
        tools = self._request.tools
        if not tools:
            return
        ids = self._codec.encode(self._prefix)
        self._model.truncate(0)
        self._model.extend(ids, range(-1, len(ids) - 1), wanted=[len(ids) - 1])
        self._model.keep(range(len(ids)))
        if len(tools) == 1:
            self._function = tools[0].name
        yield Progress("prefill", len(ids), self._joined())
        live = self._first_branches()
        while live:
            count, known = len(live), (self._function, len(self._answers))
            live = self._step(live)
            changed = (self._function, len(self._answers)) != known
            yield Progress("step", count, self._joined() if changed else None)

    def _first_branches(self) -> list[_Branch]:
        if self._function is not None:
            return self._branches(self._request.tools)
        choice = _Branch(None, self._codec.encode(function_question()))
        slots = sum(len(tool.slots) for tool in self._request.tools)
        return [choice, *(self._branches(self._request.tools) if slots <= _MOST_BRANCHES else [])]

    def _branches(self, tools: Sequence[Tool]) -> list[_Branch]:
        slots = [Slot(tool.name, parameter) for tool in tools for parameter in tool.slots]
        return [_Branch(slot, self._codec.encode(slot_question(slot))) for slot in slots[:_MOST_BRANCHES]]

    def _step(self, live: list[_Branch]) -> list[_Branch]:
        """One forward over all live branches: new ones read their question, others their last token."""
        tokens: list[int] = []
        parents: list[int] = []
        wanted: list[int] = []
        for branch in live:
            parent = self._model.trunk - 1 if branch.row < 0 else branch.row
            for token in branch.question if branch.row < 0 else branch.answer[-1:]:
                parents.append(parent)
                parent = self._model.rows + len(tokens)
                tokens.append(token)
            branch.row = parent
            wanted.append(len(tokens) - 1)
        logits = self._model.extend(tokens, parents, wanted)
        undecided = self._function is None
        going = [branch for branch, row in zip(live, logits.rows, strict=True) if self._advance(branch, row)]
        if self._function is None or not undecided:
            return going
        going = [b for b in going if b.slot is not None and b.slot.function == self._function]
        tool = self._request.tool(self._function)
        asked = any(branch.slot is not None for branch in live)
        return going if asked or tool is None else self._branches([tool])

    def _advance(self, branch: _Branch, logits: torch.Tensor) -> bool:
        """Take the branch's next token; False when it has ended."""
        if branch.slot is None:
            return self._advance_choice(branch, logits)
        token = self._guide.pick(logits, branch.slot.parameter, begun=bool(branch.answer))
        if token not in self._ends:
            branch.answer.append(token)
            if not is_finished(self._codec.decode(branch.answer)):
                return len(branch.answer) < _LONGEST_ANSWER
        answer = read_answer(self._codec.decode(branch.answer), branch.slot.parameter)
        if answer is not None:
            self._answers[branch.slot.key] = answer
        return False

    def _advance_choice(self, branch: _Branch, logits: torch.Tensor) -> bool:
        """The function choice follows the names offered, and is made as soon as one name is left."""
        begun = branch.answer
        left = {name: ids for name, ids in self._names.items() if ids[: len(begun)] == begun}
        allowed = sorted({ids[len(begun)] for ids in left.values()})
        begun.append(allowed[int(logits[allowed].argmax())])
        left = {name: ids for name, ids in left.items() if ids[: len(begun)] == begun}
        whole = next((name for name, ids in left.items() if len(ids) == len(begun)), None)
        if whole is None and len(left) > 1:
            return True
        self._function = whole or next(iter(left))
        return False

    def _joined(self) -> Hint | None:
        if self._function is None:
            return None
        self._version += 1
        return join(self._function, self._answers, self._version)
