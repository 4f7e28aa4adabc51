"""The choice of a name: all names that a call may have, judged whole in one forward.

Token by token, a name that begins well would win over one that is better on the whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch


class NameTree:
    """Names as a tree of tokens below a question. ``parents[i]`` is a node of the tree, or -1 for the question.

    The last token of a name is predicted only, so it is no node.
    """

    def __init__(self, names: Mapping[str, Sequence[int]]) -> None:
        """``names``: each with its tokens, none of which begins another."""
        self.tokens: list[int] = []
        self.parents: list[int] = []
        self._paths: dict[str, list[tuple[int, int]]] = {}  # name -> (node, the token that follows it)
        nodes: dict[tuple[int, ...], int] = {(): -1}
        for name, ids in names.items():
            path = []
            for length, token in enumerate(ids):
                begun = tuple(ids[:length])
                path.append((nodes[begun], token))
                longer = (*begun, token)
                if length < len(ids) - 1 and longer not in nodes:
                    nodes[longer] = len(self.tokens)
                    self.tokens.append(token)
                    self.parents.append(nodes[begun])
            self._paths[name] = path

    def best(self, logits: torch.Tensor) -> str:
        """The most probable name. ``logits`` [1 + nodes, vocabulary]: of the question, then of every node."""
        scores = torch.log_softmax(logits.float(), dim=-1)
        return max(
            self._paths, key=lambda name: sum(float(scores[node + 1, token]) for node, token in self._paths[name])
        )
