"""The wave: all slots of a request, and which functions are called, decoded together in one tree over one prefix."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import torch

from oospec_async.decoding.text import Codec
from oospec_async.hints import CallHint, Hint
from oospec_async.request import Request
from oospec_async.sidecar.answers import is_finished, read_answer
from oospec_async.sidecar.name_tree import NameTree
from oospec_async.sidecar.questions import NONE, Question, Slot, function_question, name_text, prefix, slot_question
from oospec_async.sidecar.value_masks import ValueMasks
from oospec_async.sidecar.wave_plan import WavePlan
from oospec_async.target.tree_model import TreeModel

_LONGEST_ANSWER = 48  # tokens
_MOST_BRANCHES = 32  # slots asked for in one forward


@dataclass(frozen=True)
class Sidecar:
    """What every wave of one sidecar shares. ``example`` stands before every prefix: for one without an adapter."""

    model: TreeModel
    codec: Codec
    masks: ValueMasks
    end_tokens: frozenset[int]
    example: str = ""
    most_calls: int = 8  # that a wave names; a sidecar that was not trained to count them should name one
    early_slots: int = _MOST_BRANCHES  # with more than this on offer, the function is chosen before they are asked for


@dataclass(frozen=True)
class Progress:
    """After one forward of the wave: what it was, and the hint if it changed."""

    kind: str  # "prefill" or "step"
    tokens: int  # fed
    branches: int  # extended; 0 for the prefill
    context: int  # rows before it
    hint: Hint | None = None


@dataclass
class _Branch:
    about: Slot | int  # a slot, or the number of a call whose function is asked for
    question: Question
    row: int = -1  # its last row in the tree
    names: NameTree | None = None  # of a call: what it may be
    answer: list[int] = field(default_factory=list)


class Wave:
    """One wave over one request. Iterate ``run``; stop iterating to cancel."""

    def __init__(self, sidecar: Sidecar, request: Request, *, reuse: bool = False) -> None:
        """``reuse``: a beginning that the last wave's prefix had too is not read again."""
        self._reuse = reuse
        self._model, self._codec, self._masks = sidecar.model, sidecar.codec, sidecar.masks
        self._ends = sidecar.end_tokens
        self._request = request
        self._prefix = sidecar.example + prefix(request)
        self._plan = WavePlan(request.tools, sidecar.most_calls, sidecar.early_slots)
        # With its line's end, no name is the beginning of another.
        self._names = {name: self._codec.encode(name_text(name)) for name in [t.name for t in request.tools] + [NONE]}
        self._stems: dict[str, int] = {}  # stem -> its last row
        self._told: tuple[CallHint, ...] = ()
        self._version = 0

    def run(self) -> Iterator[Progress]:
        """Decode until every slot of every call has its answer; yields after every forward.

        Raises OospecError where the prefix or the branches exceed the sidecar's context.
        """
        if not self._request.tools:
            return
        ids = self._codec.encode(self._prefix)
        _, reused = self._model.read(ids, reuse=self._reuse)
        yield Progress("prefill", len(ids) - reused, 0, reused, self._joined())
        live = self._new_branches()
        while live:
            context, branches = self._model.rows, len(live)
            fed, live = self._step(live)
            live = [b for b in live if not isinstance(b.about, Slot) or self._plan.wants(b.about.function)]
            live += self._new_branches()
            yield Progress("step", fed, branches, context, self._joined())

    def _new_branches(self) -> list[_Branch]:
        """What is to be asked now; slots of functions that may yet be called only while they are few."""
        choices = [
            _Branch(
                number,
                function_question(number),
                names=NameTree({n: self._names[n] for n in self._plan.options(number)}),
            )
            for number in self._plan.calls_to_ask()
        ]
        slots = self._plan.slots_to_ask(_MOST_BRANCHES)
        return choices + [_Branch(slot, slot_question(slot)) for slot in slots]

    def _step(self, live: Sequence[_Branch]) -> tuple[int, list[_Branch]]:
        """One forward over all live branches: new ones read their question, others their last token."""
        tokens: list[int] = []
        parents: list[int] = []
        wanted: list[int] = []

        def feed(chain: Sequence[int], parent: int) -> int:
            for token in chain:
                parents.append(parent)
                parent = self._model.rows + len(tokens)
                tokens.append(token)
            return parent

        for branch in live:
            if branch.row >= 0:
                branch.row = feed(branch.answer[-1:], branch.row)
            else:
                branch.row = feed(self._codec.encode(branch.question.ask), self._stem(branch.question.stem, feed))
            wanted.append(len(tokens) - 1)
            if branch.names is not None:
                first = len(tokens)
                for token, parent in zip(branch.names.tokens, branch.names.parents, strict=True):
                    feed([token], branch.row if parent < 0 else self._model.rows + first + parent)
                wanted += range(first, len(tokens))
        rows = self._model.extend(tokens, parents, wanted).rows
        counts = [1 + len(branch.names.tokens) if branch.names is not None else 1 for branch in live]
        parts = torch.split(rows, counts)
        return len(tokens), [branch for branch, part in zip(live, parts, strict=True) if self._advance(branch, part)]

    def _stem(self, stem: str, feed: Callable[[Sequence[int], int], int]) -> int:
        """The row that the questions of a stem follow."""
        if stem not in self._stems:
            self._stems[stem] = feed(self._codec.encode(stem), self._model.trunk - 1)
        return self._stems[stem]

    def _advance(self, branch: _Branch, logits: torch.Tensor) -> bool:
        """Take the branch's next token, or its choice; False when it has ended."""
        if isinstance(branch.about, int):
            assert branch.names is not None
            self._plan.named(branch.about, branch.names.best(logits))
            return False
        token = self._masks.pick(logits[0], branch.about.parameter, begun=bool(branch.answer))
        if token not in self._ends:
            branch.answer.append(token)
            if not is_finished(self._codec.decode(branch.answer)):
                return len(branch.answer) < _LONGEST_ANSWER
        answer = read_answer(self._codec.decode(branch.answer), branch.about.parameter)
        if answer is not None:
            self._plan.answered(branch.about, answer)
        return False

    def _joined(self) -> Hint | None:
        """The hint with the next version, if there is something new to tell."""
        calls = self._plan.calls()
        if calls == self._told:
            return None
        self._told = calls
        self._version += 1
        return Hint(calls, self._version)
