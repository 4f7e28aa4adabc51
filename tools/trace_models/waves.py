"""The sidecar's own wave over a scripted model: which forwards it makes, and what it publishes after which."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

import torch

from oospec_async.decoding.text import Codec
from oospec_async.request import Request
from oospec_async.sidecar.questions import (
    Question,
    Slot,
    answer_text,
    function_question,
    name_text,
    slot_question,
)
from oospec_async.sidecar.value_masks import ValueMasks
from oospec_async.sidecar.wave import Progress, Sidecar, Wave
from oospec_async.target.tree_model import Logits, TreeModel
from tools.trace_models.guess import Guess, filler

_CONTEXT = 32768
_MOST_CALLS = 8
_SURE = 9.0  # the logit of the scripted token


@dataclass
class Scripted:
    """A TreeModel's part in a wave: after a question's tokens it predicts those of its answer, one by one."""

    vocabulary: int
    answers: dict[tuple[int, ...], Sequence[int]] = field(default_factory=dict)  # question -> answer
    context: int = _CONTEXT
    trunk: int = 0
    _paths: list[tuple[int, ...]] = field(default_factory=list)  # of each tree row, from the trunk on

    @property
    def rows(self) -> int:
        return self.trunk + len(self._paths)

    def extend(self, tokens: Sequence[int], parents: Sequence[int], wanted: Sequence[int] | None = None) -> Logits:
        first = len(self._paths)
        for token, parent in zip(tokens, parents, strict=True):
            above = self._paths[parent - self.trunk] if parent >= self.trunk else ()
            self._paths.append((*above, token))
        picked = list(range(len(tokens)) if wanted is None else wanted)
        rows = torch.zeros(len(picked), self.vocabulary)
        for row, index in enumerate(picked):
            following = self._next(self._paths[first + index])
            if following is not None:
                rows[row, following] = _SURE
        return Logits(rows, rows[-1])

    def read(self, prompt: Sequence[int], *, reuse: bool) -> tuple[Logits, int]:
        self.trunk, self._paths = len(prompt), []
        nothing = torch.zeros(1, self.vocabulary)
        return Logits(nothing, nothing[0]), 0

    def _next(self, path: tuple[int, ...]) -> int | None:
        for size in range(len(path), 0, -1):
            answer = self.answers.get(path[:size])
            if answer is not None:
                said = len(path) - size
                return answer[said] if said < len(answer) else None
        return None


class Waves:
    """Runs waves as a sidecar with this tokenizer would that was trained for the questions."""

    def __init__(self, codec: Codec, vocabulary: int, end_token: int) -> None:
        self._codec, self._vocabulary, self._end = codec, vocabulary, end_token
        self._masks = ValueMasks(codec, vocabulary)

    def run(self, request: Request, guess: Guess, chance: random.Random) -> list[Progress]:
        """Every forward of the wave that answers with ``guess``. Raises OospecError as ``Wave.run`` does."""
        model = Scripted(self._vocabulary, self._answers(request, guess, chance))
        sidecar = Sidecar(
            cast(TreeModel, model), self._codec, self._masks, frozenset({self._end}), most_calls=_MOST_CALLS
        )
        return list(Wave(sidecar, request).run())

    def _answers(self, request: Request, guess: Guess, chance: random.Random) -> dict[tuple[int, ...], Sequence[int]]:
        answers: dict[tuple[int, ...], Sequence[int]] = {}

        def script(question: Question, text: str) -> None:
            asked = (*self._codec.encode(question.stem), *self._codec.encode(question.ask))
            answers[asked] = [*self._codec.encode(text), self._end]

        for number in range(1, _MOST_CALLS + 1):
            script(function_question(number), name_text(guess.name(number)))
        for tool in request.tools:
            for slot in tool.slots:
                for call in range(1, _MOST_CALLS + 1):
                    key = (tool.name, call, slot.name)
                    value = guess.values[key] if key in guess.values else filler(slot, request, chance)
                    script(slot_question(Slot(tool.name, slot, call)), answer_text(value))
        return answers
