"""Profiles: what is drafted and accepted at every output position, with and without each version of a hint.

Decoding is lossless, so the output is the same whatever is drafted; what is drafted follows from the committed prefix,
the history at the request's start, the budget curve and the hint (invariant 5). So replaying a finished output token by
token through the same drafters tells what any round of any run would have drafted there, and what would have held.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from oospec_async.decoding.state import DecodeState, Setting
from oospec_async.decoding.tree import DraftTree
from oospec_async.hints import Hint
from oospec_async.trace import Profile


@dataclass(frozen=True)
class Decode:
    """A finished decode, with what it takes to go through it again.

    ``successors[i]``: the target's most likely tokens in the place of ``output[i]``, best first, as a run has seen
    them; empty where no target was asked. ``setting.memory``: as it stood at the request's start.
    """

    setting: Setting
    output: Sequence[int]
    successors: Sequence[Sequence[int]]


def profiles(decode: Decode, hints: Sequence[Hint]) -> list[Profile]:
    """One profile without a hint (version 0), then one per hint, in their order.

    Costs a call of the drafters per position and profile. The decode is left as it is.
    """
    memory = replace(decode.setting.memory, successors={})
    state = DecodeState(replace(decode.setting, memory=memory))
    tried: list[Hint | None] = [None, *hints]
    drafted: list[list[int]] = [[] for _ in tried]
    accepted: list[list[int]] = [[] for _ in tried]
    for position, token in enumerate(decode.output[:-1]):
        root = state.output[-1] if state.output else decode.setting.prompt[-1]
        state.commit(DraftTree([root]), [token], [decode.successors[position]])
        ahead = decode.output[position + 1 :]
        for index, hint in enumerate(tried):
            tree = state.propose(hint)
            drafted[index].append(len(tree) - 1)
            accepted[index].append(_accepted(tree, ahead))
    versions = [0 if hint is None else hint.version for hint in tried]
    return [Profile(version=v, drafted=d, accepted=a) for v, d, a in zip(versions, drafted, accepted, strict=True)]


def _accepted(tree: DraftTree, ahead: Sequence[int]) -> int:
    """Drafted tokens on the output's path. Its last token is the target's own in every round that reaches it."""
    node, accepted = 0, 0
    for token in ahead[:-1]:
        child = tree.children[node].get(token)
        if child is None:
            break
        node, accepted = child, accepted + 1
    return accepted
