"""The draft tree: candidates merged, cut to what pays, always a tree."""

from __future__ import annotations

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from oospec_async.decoding.tree import Candidate, DraftTree, VerifyCurve, build_tree

FLAT = VerifyCurve(((1, 1.0), (64, 1.0)))
CANDIDATES = st.lists(
    st.builds(
        Candidate,
        st.lists(st.integers(0, 3), max_size=6).map(tuple),
        st.sampled_from("ab"),
        st.floats(0, 1),
        st.floats(0, 1),
    ),
    max_size=6,
)
CURVES = st.lists(st.floats(0.01, 10), min_size=1, max_size=5).map(
    lambda times: VerifyCurve(tuple(zip((1, 4, 9, 20, 64), sorted(times), strict=False)))
)


def paths(tree: DraftTree) -> dict[int, tuple[int, ...]]:
    found: dict[int, tuple[int, ...]] = {0: ()}
    for node in range(1, len(tree)):
        found[node] = (*found[tree.parents[node]], tree.tokens[node])
    return found


@given(candidates=CANDIDATES, curve=CURVES, nodes=st.integers(0, 20), depth=st.integers(-1, 7))
@settings(max_examples=300)
def test_a_tree_is_always_whole_and_within_its_limits(
    candidates: list[Candidate], curve: VerifyCurve, nodes: int, depth: int
) -> None:
    tree = build_tree(9, candidates, curve=curve, max_nodes=nodes, max_depth=max(depth, 0))
    assert (tree.tokens[0], tree.parents[0], tree.depths[0]) == (9, -1, 0)
    assert len(tree) <= nodes + 1
    assert max(tree.depths) <= max(depth, 0)
    for node in range(1, len(tree)):
        parent = tree.parents[node]
        assert parent < node
        assert tree.depths[node] == tree.depths[parent] + 1
        assert tree.children[parent][tree.tokens[node]] == node
    drafted = list(paths(tree).values())
    assert len(set(drafted)) == len(drafted)
    assert all(any(c.tokens[: len(path)] == path for c in candidates) for path in drafted if path)


@given(candidates=CANDIDATES, curve=CURVES)
def test_what_is_kept_yields_the_most_expected_tokens_per_second(
    candidates: list[Candidate], curve: VerifyCurve
) -> None:
    """Against every budget: the best n nodes by probability, whose number is the only choice once chains are cut."""
    weights: dict[tuple[int, ...], float] = {}
    for candidate in candidates:
        weight = candidate.prior
        for end in range(1, min(len(candidate.tokens), curve.longest(candidate.prior)) + 1):
            path = candidate.tokens[:end]
            weights[path] = max(weights.get(path, 0.0), weight)
            weight *= candidate.survival
    ranked = sorted(weights.values(), reverse=True)[:48]
    rates = [(1 + sum(ranked[:n])) / curve.seconds(n + 1) for n in range(len(ranked) + 1)]
    tree = build_tree(9, candidates, curve=curve, max_nodes=48, max_depth=9)
    kept = 1 + sum(weights[path] for path in paths(tree).values() if path)
    assert kept / curve.seconds(len(tree)) >= max(rates) * (1 - 1e-9)


@given(curve=CURVES, prior=st.floats(0, 1), more=st.floats(0, 1))
def test_a_chain_is_cut_where_a_round_for_its_rest_costs_less_on_average(
    curve: VerifyCurve, prior: float, more: float
) -> None:
    longest = curve.longest(prior)
    assert 1 <= longest <= 63
    assert curve.longest(max(prior, more)) >= longest
    rest = longest - 1
    if rest:
        assert curve.seconds(rest + 2) - curve.seconds(2) <= prior * curve.seconds(rest + 1)
    if longest < 63:
        assert curve.seconds(rest + 3) - curve.seconds(2) > prior * curve.seconds(rest + 2)


def test_where_tokens_cost_nothing_no_chain_is_cut() -> None:
    assert FLAT.longest(0.0) == 63


def test_common_beginnings_are_merged_and_the_surest_source_is_credited() -> None:
    candidates = [Candidate((1, 2, 3), "a", 0.5), Candidate((1, 2, 4), "b", 0.9), Candidate((1,), "c", 0.1)]
    tree = build_tree(0, candidates, curve=FLAT, max_nodes=9, max_depth=9)
    assert sorted(path for path in paths(tree).values() if path) == [(1,), (1, 2), (1, 2, 3), (1, 2, 4)]
    assert dict(zip(tree.tokens, tree.sources, strict=True)) == {0: "", 1: "b", 2: "b", 3: "a", 4: "b"}


def test_a_repeated_token_along_a_path_is_several_nodes() -> None:
    tree = build_tree(5, [Candidate((5, 5, 5), "a", 1.0)], curve=FLAT, max_nodes=9, max_depth=9)
    assert tree.parents == [-1, 0, 1, 2]


def test_nothing_is_drafted_where_a_larger_tree_costs_more_than_it_may_yield() -> None:
    steep = VerifyCurve(((1, 1.0), (2, 2.0)))
    assert len(build_tree(0, [Candidate((1, 2), "a", 0.9)], curve=steep, max_nodes=9, max_depth=9)) == 1
    assert len(build_tree(0, [Candidate((1, 2), "a", 0.9)], curve=FLAT, max_nodes=9, max_depth=9)) == 3


def test_improbable_nodes_are_dropped_first() -> None:
    curve = VerifyCurve(((1, 1.0), (64, 7.3)))
    candidates = [Candidate((1, 2), "sure", 0.9), Candidate((3, 4), "unsure", 0.05)]
    assert build_tree(0, candidates, curve=curve, max_nodes=9, max_depth=9).tokens == [0, 1, 2]


def test_the_curve_meets_its_samples_lies_between_them_and_goes_on_with_the_last_slope() -> None:
    curve = VerifyCurve(((1, 1.0), (5, 2.0), (9, 6.0)))
    assert [curve.seconds(n) for n in (0, 1, 3, 5, 7, 9, 10, 13)] == [1.0, 1.0, 1.5, 2.0, 4.0, 6.0, 7.0, 10.0]


def test_a_curve_of_one_sample_is_flat() -> None:
    assert VerifyCurve(((4, 0.5),)).seconds(100) == 0.5


@given(curve=CURVES)
def test_a_curve_that_never_falls_in_its_samples_never_falls(curve: VerifyCurve) -> None:
    times = [curve.seconds(n) for n in range(1, 100)]
    assert all(a <= b + 1e-12 for a, b in itertools.pairwise(times))
