"""Summaries are totals over the same outputs."""

from __future__ import annotations

import pytest

from oospec_async.commands.summary import Difference, summarise
from oospec_async.completion import Completion, HintUse, Metrics


def completion(
    request: str, method: str, tokens: tuple[int, ...], decode: float, rounds: int, hint: HintUse | None = None
) -> Completion:
    metrics = Metrics(10, len(tokens), rounds, 0, 0, decode + 1.0, 1.0, 0.9, decode, hint or HintUse())
    margins = tuple(0.5 + position for position in range(len(tokens)))
    return Completion(request, method, "", tokens, ("",) * len(tokens), margins, (), "stop", metrics)


def test_figures_are_totals_over_totals() -> None:
    done = [
        completion("a", "ar", (1, 2, 3, 4), decode=3.0, rounds=3),
        completion("b", "ar", (1, 2), decode=1.0, rounds=1),
        completion("a", "toolspec", (1, 2, 3, 4), decode=1.0, rounds=1),
        completion("b", "toolspec", (1, 2), decode=1.0, rounds=1),
    ]
    baseline, faster = summarise(done)
    assert baseline.speedup is None
    assert baseline.mean_accepted == pytest.approx((3 + 1) / 4)  # pooled, without the first tokens
    assert faster.decode_speedup == pytest.approx(4.0 / 2.0)
    assert faster.speedup == pytest.approx(6.0 / 4.0)
    assert faster.decode_speedups == pytest.approx((3.0, 1.0))


@pytest.mark.parametrize(
    ("first", "second", "position"), [((1, 2, 3), (1, 9, 3), 1), ((1, 2), (1, 2, 3), 2), ((1, 2, 3), (1, 2), 2)]
)
def test_an_output_that_departs_is_listed_with_place_and_margin(
    first: tuple[int, ...], second: tuple[int, ...], position: int
) -> None:
    """Also where one of them goes on and the other has ended."""
    done = [completion("a", "ar", first, 1.0, 2), completion("a", "pld", second, 1.0, 2)]
    assert summarise(done)[1].differences == (Difference("a", position, 0.5 + position),)


def test_a_partial_second_method_has_no_speedup_over_other_requests() -> None:
    done = [completion("a", "ar", (1, 2), 1.0, 1), completion("b", "pld", (1, 2), 1.0, 1)]
    assert summarise(done)[1].decode_speedup is None


def test_hint_figures_are_over_requests_that_got_one() -> None:
    hint = HintUse(
        versions=1, arrival_seconds=0.2, arrival_position=3, payload_bytes=60, wave_seconds=0.4, wave_hidden=1.0
    )
    done = [completion("a", "oospec", (1, 2), 1.0, 1, hint), completion("b", "oospec", (1, 2), 1.0, 1)]
    (summary,) = summarise(done)
    assert (summary.hint_position, summary.payload_bytes, summary.wave_hidden) == (3.0, 60.0, 1.0)
