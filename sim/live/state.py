"""Decoding by a profile: what was drafted and accepted at a position, is."""

from __future__ import annotations

from collections.abc import Sequence

from oospec_async.decoding.draft_chain import NO_CHAIN, Chain
from oospec_async.decoding.state import DecodeState, Setting
from oospec_async.decoding.tree import DraftTree
from oospec_async.decoding.verify import Verdict
from oospec_async.hints import Hint
from sim.live.clock import VirtualClock
from sim.replay.timetable import Rank, Timetable

_WRONG = 0  # a virtual target never says it
_OTHERS = "other drafters"


class ProfileState(DecodeState):
    """A DecodeState that verifies and commits as any; its trees have the profile's size, and hold as far as that did.

    Host time is spent where the live engine spends it: in ``commit``, before the poll, and in ``propose``, after it.
    """

    def __init__(self, setting: Setting, timetable: Timetable, clock: VirtualClock) -> None:
        super().__init__(setting)
        self._timetable, self._clock = timetable, clock

    def propose(self, hint: Hint | None = None, chain: Chain = NO_CHAIN) -> DraftTree:
        at = len(self.output) - 1
        version = self._timetable.version if hint is None else hint.version
        rounds = self._timetable.rounds[version]
        accepted = rounds.accepted[at]
        # A trace does not say which drafter a token came from: the hint's is what holds only with it.
        without = min(accepted, self._timetable.rounds[0].accepted[at]) if version else accepted
        tree = DraftTree([self.output[-1]])
        node = 0
        for depth in range(accepted):
            node = tree.add(tree.tokens[node] + 1, node, _OTHERS if depth < without else "hint")
        node = 0
        for _ in range(rounds.tokens[at] - 1 - accepted):
            node = tree.add(_WRONG, node, _OTHERS)
        self._clock.spend(self._timetable.draft_ns[at], Rank.TARGET_ASKS)
        return tree

    def commit(self, tree: DraftTree, predicted: Sequence[int], successors: Sequence[Sequence[int]]) -> Verdict:
        verdict = super().commit(tree, predicted, successors)
        self._clock.spend(self._timetable.commit_ns[len(self.output) - 1], Rank.POLL)
        return verdict
