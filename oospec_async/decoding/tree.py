"""The draft tree: candidates merged by common prefix, cut to the size that pays for itself."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate

LARGEST_TREE = 64  # tokens, the root counts


@dataclass(frozen=True)
class Candidate:
    """A chain of tokens that may follow the committed ones.

    ``prior`` is the probability that its first token is right, ``survival`` that a token is right when the one before
    it was: they rank candidates against each other and against the cost of verifying them.
    """

    tokens: tuple[int, ...]
    source: str
    prior: float
    survival: float = 0.95


@dataclass(frozen=True)
class VerifyCurve:
    """Seconds that one forward takes, by tokens in the tree (the root counts), interpolated between samples.

    Beyond the last sample the last slope goes on.
    """

    samples: tuple[tuple[int, float], ...] = ((1, 1.0), (16, 1.25), (64, 2.5))

    @cached_property
    def table(self) -> tuple[float, ...]:
        """Seconds for 0 (unused), 1, 2, … tokens, as many as a tree may have."""
        return tuple(self.seconds(tokens) for tokens in range(LARGEST_TREE + 1))

    def longest(self, prior: float) -> int:
        """How many tokens of a chain are worth a place in the tree where its first one is right with this chance.

        The rest of a chain that is cut can be drafted once its beginning has held, in a round of its own. Verifying it
        now is cheaper only if that takes less time than this round, times the chance that it would be needed.
        """
        return 1 + bisect_right(self._tail_prices, prior)

    @cached_property
    def _tail_prices(self) -> tuple[float, ...]:
        """For 1, 2, … tokens after the first: what they add to a round, over what a round for them alone takes."""
        costs = self.table
        prices = ((costs[tail + 2] - costs[2]) / costs[tail + 1] for tail in range(1, LARGEST_TREE - 1))
        return tuple(accumulate(prices, max))

    def seconds(self, tokens: int) -> float:
        points = self.samples
        if len(points) == 1 or tokens <= points[0][0]:
            return points[0][1]
        right = next((i for i, point in enumerate(points) if point[0] >= tokens), len(points) - 1)
        (n0, t0), (n1, t1) = points[right - 1], points[right]
        return max(t0 + (t1 - t0) * (tokens - n0) / (n1 - n0), 1e-9)


@dataclass
class DraftTree:
    """Tokens in topological order; node 0 is the root, the last committed token. ``parents[0]`` is -1."""

    tokens: list[int]
    parents: list[int] = field(default_factory=lambda: [-1])
    depths: list[int] = field(default_factory=lambda: [0])
    sources: list[str] = field(default_factory=lambda: [""])  # the drafter that ranked the node highest
    children: list[dict[int, int]] = field(default_factory=lambda: [{}])  # token -> node

    def __len__(self) -> int:
        return len(self.tokens)

    def add(self, token: int, parent: int, source: str) -> int:
        node = len(self.tokens)
        self.tokens.append(token)
        self.parents.append(parent)
        self.depths.append(self.depths[parent] + 1)
        self.sources.append(source)
        self.children.append({})
        self.children[parent][token] = node
        return node


def build_tree(
    root: int, candidates: Sequence[Candidate], *, curve: VerifyCurve, max_nodes: int, max_depth: int
) -> DraftTree:
    """Merge candidates and keep the nodes that maximise expected tokens per second.

    A node is as probable as the most confident candidate through it, so a child is never more probable than its
    parent and the best n nodes always form a tree. n maximises (1 + sum of their probabilities) / seconds(n + 1).
    """
    full = DraftTree([root])
    weights = [1.0]
    for candidate in candidates:
        node, weight = 0, candidate.prior
        for token in candidate.tokens[: min(max_depth, curve.longest(candidate.prior))]:
            child = full.children[node].get(token)
            if child is None:
                child = full.add(token, node, candidate.source)
                weights.append(weight)
            elif weight > weights[child]:
                weights[child], full.sources[child] = weight, candidate.source
            node, weight = child, weight * candidate.survival
    order = sorted(range(1, len(full)), key=lambda node: (-weights[node], node))[: min(max_nodes, LARGEST_TREE - 1)]
    kept, expected, best = 0, 1.0, 1.0 / curve.table[1]
    for count, node in enumerate(order, start=1):
        expected += weights[node]
        rate = expected / curve.table[count + 1]
        if rate >= best:
            kept, best = count, rate
    return _subtree(full, order[:kept])


def _subtree(full: DraftTree, nodes: Sequence[int]) -> DraftTree:
    tree = DraftTree([full.tokens[0]])
    renamed = {0: 0}
    for node in nodes:  # a parent precedes its children: it is at least as probable and was added before
        renamed[node] = tree.add(full.tokens[node], renamed[full.parents[node]], full.sources[node])
    return tree
