"""Between tokens and text: incremental detokenisation, and tokens for a continuation as the target would make them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

_BROKEN = "�"  # what decoding yields for bytes that are no whole character yet
_WINDOW = 8  # committed tokens that a continuation is encoded together with


class Codec(Protocol):
    """The target's tokenizer. ``decode`` keeps special tokens; ``encode`` recognises them and adds none."""

    def encode(self, text: str) -> list[int]: ...

    def decode(self, ids: Sequence[int]) -> str: ...


class OutputText:
    """The text of a growing list of tokens, in amortised constant time per token."""

    def __init__(self, codec: Codec) -> None:
        self._codec = codec
        self._ids: list[int] = []
        self._done = 0  # tokens whose text is final
        self._before = 0  # tokens that give the next ones their context
        self._final = ""

    def append(self, token: int) -> None:
        self._ids.append(token)

    @property
    def text(self) -> str:
        context = self._codec.decode(self._ids[self._before : self._done])
        rest = self._codec.decode(self._ids[self._before :])[len(context) :]
        if rest and not rest.endswith(_BROKEN):
            self._final += rest
            self._before, self._done = self._done, len(self._ids)
            return self._final
        return self._final + rest

    @property
    def stable(self) -> str:
        """The text as far as no further token can change it."""
        return self.text.rstrip(_BROKEN)


class Tail:
    """The end of the committed tokens, after which continuations given as text are tokenised."""

    def __init__(self, codec: Codec, committed: Sequence[int]) -> None:
        self._codec = codec
        self._tokens = list(committed[-_WINDOW:])
        self._contexts: dict[int, str] = {}  # text of so many last tokens

    def continue_with(self, text: str, *, final: bool = False) -> list[int]:
        """Tokens of ``text`` after the committed ones, as one text would be tokenised.

        The text is encoded together with the last committed tokens, and the longest window of them that comes back
        unchanged decides; a target that split its text unusually shortens the window. The last token is withheld
        unless the text is ``final``: what follows could merge with it, and the round yields the token after the draft
        anyway.
        """
        for size in range(len(self._tokens), -1, -1):
            tail, context = self._tokens[len(self._tokens) - size :], self._context(size)
            if context.startswith(_BROKEN):
                continue
            ids = self._codec.encode(context + text)
            if ids[:size] == tail:
                return ids[size:] if final else ids[size:-1]
        return []

    def _context(self, size: int) -> str:
        if size not in self._contexts:
            self._contexts[size] = self._codec.decode(self._tokens[len(self._tokens) - size :]) if size else ""
        return self._contexts[size]
