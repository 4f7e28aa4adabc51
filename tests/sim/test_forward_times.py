"""Times between samples, and what is said of times beyond them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.costs.forward_times import fit

SAMPLES = [(n, c, 0.02 + 0.0003 * n + 2e-6 * c) for n in (1, 2, 8, 32) for c in range(100, 1000, 50)]


def test_a_law_without_noise_is_met_between_samples() -> None:
    times = fit(*zip(*SAMPLES, strict=True))
    for tokens, context in ((1, 100), (3, 333), (20, 777), (32, 950)):
        assert times.seconds(tokens, context) == pytest.approx(0.02 + 0.0003 * tokens + 2e-6 * context)


def test_beyond_the_samples_the_slope_goes_on_and_it_is_said() -> None:
    times = fit(*zip(*SAMPLES, strict=True))
    assert times.seconds(64, 500) == pytest.approx(0.02 + 0.0003 * 64 + 2e-6 * 500)
    tokens, context = [1, 32, 33, 8, 8, 8], [100, 900, 500, 99, 974, 975]
    assert times.beyond(tokens, context).tolist() == [False, False, True, True, False, True]
    assert times.known == "1 to 32 tokens, with 100 to 982 rows"


def test_an_outlier_moves_nothing() -> None:
    noisy = [*SAMPLES, (8, 400, 9.0), (1, 200, 7.0)]
    assert fit(*zip(*noisy, strict=True)).seconds(8, 400) == pytest.approx(0.02 + 0.0003 * 8 + 2e-6 * 400, rel=1e-3)


def test_one_sample_is_a_constant() -> None:
    times = fit([4], [10], [0.5])
    assert times.seconds([1, 4, 900], [0, 10, 9999]).tolist() == [0.5, 0.5, 0.5]


@given(st.lists(st.tuples(st.integers(1, 64), st.integers(0, 2000), st.floats(1e-6, 10.0)), min_size=1, max_size=40))
def test_times_are_positive_and_never_nan_whatever_the_samples(samples: list[tuple[int, int, float]]) -> None:
    times = fit(*zip(*samples, strict=True))
    asked = times.seconds(np.arange(1, 200), np.arange(0, 199) * 30)
    assert np.isfinite(asked).all()
    assert (asked > 0).all()
    assert np.isfinite(times.ratios).all()


@given(st.lists(st.tuples(st.integers(1, 900), st.floats(0.01, 1.0)), min_size=1, max_size=60))
def test_prefills_are_never_cheaper_beyond_the_longest_known(samples: list[tuple[int, float]]) -> None:
    tokens, seconds = zip(*samples, strict=True)
    times = fit(tokens, [0] * len(tokens), seconds)
    longest = max(tokens)
    assert times.seconds(longest + 500) >= times.seconds(max(times.sizes)) - 1e-12
