"""A sidecar that answers the wave's questions from a script, and notes its forwards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch

from helpers import tiny
from oospec_async.errors import OospecError
from oospec_async.sidecar.value_masks import ValueMasks
from oospec_async.sidecar.wave import Sidecar
from oospec_async.target.tree_model import Logits

VOCABULARY = len(tiny.tokenizer()) + tiny.PADDING
END = tiny.token("<|im_end|>")


def _question(text: str) -> list[int]:
    """A stem and what is asked after it are encoded apart."""
    stem, name, equals = text.rsplit(" ", 2)
    return [*tiny.codec().encode(stem), *tiny.codec().encode(f" {name} {equals}")]


class ScriptedModel:
    """Answers a question (the end of a path) with its text, token by token, and then with the end token."""

    def __init__(self, script: Mapping[str, str], context: int = 4096) -> None:
        self.context, self.vocabulary, self.trunk = context, VOCABULARY, 0
        self.forwards: list[int] = []
        self.asked: set[str] = set()
        self._script = {q: (_question(q), [*tiny.codec().encode(a), END]) for q, a in script.items()}
        self._paths: list[list[int]] = []

    @property
    def rows(self) -> int:
        return len(self._paths)

    def read(self, prompt: Sequence[int], *, reuse: bool) -> tuple[Logits, int]:
        self.truncate(0)
        logits = self.extend(prompt, range(-1, len(prompt) - 1), wanted=[len(prompt) - 1])
        self.keep(range(len(prompt)))
        return logits, 0

    def extend(self, tokens: Sequence[int], parents: Sequence[int], wanted: Sequence[int] | None = None) -> Logits:
        first = self.rows
        self.forwards.append(len(tokens))
        for token, parent in zip(tokens, parents, strict=True):
            self._paths.append([*(self._paths[parent] if parent >= 0 else []), token])
            if len(self._paths[-1]) > self.context:
                raise OospecError("too long")
        picked = range(len(tokens)) if wanted is None else wanted
        rows = torch.zeros(len(picked), VOCABULARY)
        for row, index in enumerate(picked):
            rows[row, self._next(self._paths[first + index])] = 9.0
        return Logits(rows, rows[-1])

    def keep(self, path: Sequence[int]) -> None:
        self.truncate(self.trunk + len(path))

    def truncate(self, rows: int) -> None:
        self.trunk, self._paths = rows, self._paths[:rows]

    def _next(self, path: list[int]) -> int:
        for text, (question, answer) in self._script.items():
            for said in range(len(answer)):
                if path[len(path) - said - len(question) :] == [*question, *answer[:said]]:
                    self.asked.add(text)
                    return answer[said]
        return END


def scripted(script: Mapping[str, str], context: int = 4096) -> tuple[Sidecar, ScriptedModel]:
    model = ScriptedModel(script, context)
    return Sidecar(model, tiny.codec(), ValueMasks(tiny.codec(), VOCABULARY), frozenset({END})), model  # type: ignore[arg-type]
