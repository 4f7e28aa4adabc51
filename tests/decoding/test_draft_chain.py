"""When another token of a draft model's chain is worth its time."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from oospec_async.decoding.draft_chain import LONGEST_CHAIN, ChainCosts
from oospec_async.decoding.tree import VerifyCurve

FLAT = VerifyCurve(((1, 1.0), (64, 1.0)))
CHANCES = st.lists(st.floats(0.01, 1.0), max_size=LONGEST_CHAIN)


def length(costs: ChainCosts, probabilities: list[float], limit: int = LONGEST_CHAIN) -> int:
    """How long a chain with these probabilities gets."""
    said = 0
    while said < len(probabilities) and costs.pays(probabilities[:said], limit):
        said += 1
    return said


def test_a_draft_model_as_slow_as_the_target_is_never_asked() -> None:
    assert not ChainCosts(1.0, FLAT).pays((), LONGEST_CHAIN)


@given(CHANCES, st.integers(0, 20))
def test_a_draft_model_that_takes_no_time_is_asked_for_all_that_there_is_room_for(
    probabilities: list[float], limit: int
) -> None:
    assert ChainCosts(0.0, FLAT).pays(probabilities, limit) == (len(probabilities) < min(limit, LONGEST_CHAIN))


@given(st.lists(st.floats(0.0, 1.0), max_size=LONGEST_CHAIN), st.floats(0.0, 2.0), st.integers(0, 20))
def test_a_chain_never_exceeds_its_limit(probabilities: list[float], step: float, limit: int) -> None:
    assert length(ChainCosts(step, VerifyCurve()), probabilities, limit) <= min(limit, LONGEST_CHAIN)


def test_certain_tokens_make_long_chains_and_a_doubtful_one_ends_them() -> None:
    costs = ChainCosts(0.2, VerifyCurve())
    assert length(costs, [0.99] * LONGEST_CHAIN) == LONGEST_CHAIN
    assert length(costs, [0.99, 0.99, 0.05, 0.99, 0.99]) == 3
    assert length(costs, [0.3] * LONGEST_CHAIN) < 3


def test_cheap_steps_make_longer_chains_than_dear_ones() -> None:
    probabilities = [0.85] * LONGEST_CHAIN
    lengths = [length(ChainCosts(step, VerifyCurve()), probabilities) for step in (0.0, 0.1, 0.3, 0.6, 0.9)]
    assert lengths == sorted(lengths, reverse=True)
    assert lengths[0] > lengths[2] > lengths[4] == 0


def test_a_verification_that_jumps_in_cost_is_crossed_by_a_chain_long_enough_to_pay_for_it() -> None:
    costs = ChainCosts(0.35, VerifyCurve(((1, 1.0), (2, 1.5), (64, 1.6))))
    assert not costs.pays((), 1)
    assert costs.pays((), 4)
