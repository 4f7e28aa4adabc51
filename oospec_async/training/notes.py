"""What a rule had to decide, counted."""

from __future__ import annotations

from collections.abc import Iterator

from oospec_async.training.records import Object


class Notes:
    """Counts what a rule decided, by kind, and remembers where each kind was met first."""

    def __init__(self) -> None:
        self._kinds: dict[str, tuple[int, str]] = {}

    def add(self, kind: str, where: str) -> None:
        count, first = self._kinds.get(kind, (0, where))
        self._kinds[kind] = count + 1, first

    def lines(self) -> Iterator[str]:
        for kind, (count, first) in self._kinds.items():
            yield f"{count} x {kind} (first: {first})"

    def as_json(self) -> list[Object]:
        """For a manifest: kind, count, and where it was met first."""
        return [{"rule": kind, "count": count, "first": first} for kind, (count, first) in self._kinds.items()]


class Ids:
    """Keeps ids apart."""

    def __init__(self, notes: Notes) -> None:
        self._seen: set[str] = set()
        self._notes = notes

    def unique(self, name: str, where: str) -> str:
        """The name, with a number appended (counted) if it was used before."""
        if name in self._seen:
            self._notes.add("id used twice; a number is appended", where)
            name = next(new for n in range(2, len(self._seen) + 3) if (new := f"{name}-{n}") not in self._seen)
        self._seen.add(name)
        return name
