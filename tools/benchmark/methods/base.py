"""What a method of the benchmark is: an entry that the main process reads, and a server that a worker opens from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from oospec_async.decoding.drafters.needs import Need
from oospec_async.request import Request
from oospec_async.runtime.parts import Parts
from tools.benchmark.options import Options
from tools.benchmark.rows import Measured


class Server(Protocol):
    """Serves requests one at a time by one method."""

    def forget(self) -> None:
        """Drop what earlier requests have left: the next one starts cold."""
        ...

    async def serve(self, request: Request, known: Sequence[int]) -> Measured:
        """Serve to the end. ``known``: this request's output, for methods whose entry says ``after``.

        Raises OospecError for a request that cannot be served.
        """
        ...


@dataclass(frozen=True)
class Entry:
    """A method. ``open`` is called in a worker."""

    open: Callable[[Parts, Options], Server]
    about: str = ""  # one line for --help
    needs: tuple[Need, ...] = ()  # of parts that options name
    by_engine: bool = False  # its prompts are read by our engine, which can reuse what it has read
    after: tuple[str, ...] = ()  # needs the request's output, as one of these methods has given it
