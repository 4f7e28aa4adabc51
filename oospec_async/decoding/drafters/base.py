"""The seam of all drafters."""

from __future__ import annotations

from typing import Protocol

from oospec_async.decoding.drafters.needs import Need
from oospec_async.decoding.tree import Candidate
from oospec_async.decoding.view import View


class Drafter(Protocol):
    """A source of candidate continuations.

    ``propose`` is a pure function of the view: it keeps no state between rounds, so it recovers by itself after any
    rejection. An empty list means "nothing to say here". Registering a drafter is one line in ``drafters/__init__``.
    ``needs``: what must be made for it beside the round loop, ``HINTS`` or ``CHAINS``.
    """

    name: str
    needs: tuple[Need, ...] = ()

    def propose(self, view: View) -> list[Candidate]: ...
