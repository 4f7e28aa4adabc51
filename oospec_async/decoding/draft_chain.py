"""The chain that a draft model says, and when another token of it is worth its time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from oospec_async.decoding.tree import VerifyCurve

LONGEST_CHAIN = 16  # tokens
_FIRST_CHANCE = 0.8  # expected of a token before the model has said any; a guess, outweighed by what it says


@dataclass(frozen=True)
class Chain:
    """Tokens that may follow the committed ones; ``probabilities[i]`` is the model's own of ``tokens[i]``."""

    tokens: tuple[int, ...] = ()
    probabilities: tuple[float, ...] = ()


NO_CHAIN = Chain()


@dataclass(frozen=True)
class ChainCosts:
    """``step``: seconds that the draft model takes for a token; ``curve``: those of the target's verification."""

    step: float
    curve: VerifyCurve

    def pays(self, probabilities: Sequence[float], limit: int) -> bool:
        """Whether a chain of tokens with these probabilities should get another one, if it may have ``limit`` at most.

        So it is if some longer chain is expected to add tokens to the round at a better rate than the round has by now,
        and than plain decoding has. Tokens to come are taken for as certain as those so far were on the average.
        """
        said, sure, expected = len(probabilities), 1.0, 1.0
        for probability in probabilities:
            sure *= probability
            expected += sure
        verify = self.curve.table
        rate = max(expected / (said * self.step + verify[said + 1]), 1 / verify[1])
        typical = (sure * _FIRST_CHANCE) ** (1 / (said + 1))
        gain = 0.0
        for more in range(1, min(limit, LONGEST_CHAIN) - said + 1):
            sure *= typical
            gain += sure
            if gain > rate * (more * self.step + verify[said + more + 1] - verify[said + 1]):
                return True
        return False
