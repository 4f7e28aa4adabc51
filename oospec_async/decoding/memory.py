"""What a target's earlier requests teach: finished outputs, token successors, and the dialect it writes in."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from oospec_async.dialects.dialect import Dialect

State = NDArray[np.float32]  # [hidden]: the target's last hidden state at the last prompt token
NGRAM_SIZES = (7, 6, 5)  # longest match first (ToolSpec, history retrieval)
_MAX_ENTRIES = 256
_NO_STATE = np.zeros(0, dtype=np.float32)


@dataclass(frozen=True)
class Entry:
    """A finished output. ``grams`` gives for each n-gram the offset after its first occurrence."""

    tokens: tuple[int, ...]
    state: State
    grams: Mapping[tuple[int, ...], int]


@dataclass
class Recollection:
    """The memory as one request sees it: frozen at its start, plus the successors that it has committed since.

    ``entries`` are ordered by similarity to the request's prompt, most similar first.
    """

    entries: Sequence[Entry] = ()
    dialects: Sequence[Dialect] = ()
    earlier_successors: Mapping[int, Sequence[int]] = field(default_factory=dict)
    successors: dict[int, Sequence[int]] = field(default_factory=dict)

    def successors_of(self, token: int) -> Sequence[int]:
        """Likely next tokens, most likely first; empty where the token has not been seen."""
        return self.successors.get(token) or self.earlier_successors.get(token, ())


class Memory:
    """Bounded, cold at the start, and shared by the requests of one target. Requests are served one at a time."""

    def __init__(self, max_entries: int = _MAX_ENTRIES) -> None:
        self._entries: deque[Entry] = deque(maxlen=max_entries)
        self._dialects: deque[Dialect] = deque(maxlen=8)
        self._successors: dict[int, Sequence[int]] = {}

    def recall(self, state: State | None) -> Recollection:
        """The memory for a request whose prompt has this state; None: most recent entries first."""
        entries = list(reversed(self._entries))
        if state is not None:
            query = _unit(state)
            entries.sort(key=lambda entry: -float(query @ entry.state) if entry.state.shape == query.shape else 1.0)
        return Recollection(entries, self._by_frequency(), self._successors)

    def learn(self, tokens: Sequence[int], state: State | None, seen: Recollection, dialect: Dialect | None) -> None:
        """Remember a finished request."""
        grams: dict[tuple[int, ...], int] = {}
        for size in NGRAM_SIZES:
            for end in range(size, len(tokens)):
                grams.setdefault(tuple(tokens[end - size : end]), end)
        self._entries.append(Entry(tuple(tokens), _NO_STATE if state is None else _unit(state), grams))
        self._successors = {**self._successors, **seen.successors}
        if dialect is not None:
            self._dialects.append(dialect)

    def _by_frequency(self) -> list[Dialect]:
        recent = list(reversed(self._dialects))
        return sorted(dict.fromkeys(recent), key=lambda dialect: -recent.count(dialect))


def _unit(state: State) -> State:
    norm = float(np.linalg.norm(state))
    return (state / norm if norm > 0 else state).astype(np.float32)
