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


def test_speedup_is_total_time_over_total_time() -> None:
    done = [
        completion("a", "ar", (1, 2, 3, 4), decode=3.0, rounds=3),
        completion("b", "ar", (1, 2), decode=1.0, rounds=1),
        completion("a", "toolspec", (1, 2, 3, 4), decode=1.0, rounds=1),
        completion("b", "toolspec", (1, 2), decode=1.0, rounds=1),
    ]
    baseline, faster = summarise(done)
    assert baseline.speedup is None
    assert faster.decode_speedup == pytest.approx(4.0 / 2.0)
    assert faster.speedup == pytest.approx(6.0 / 4.0)
    assert faster.decode_speedups == pytest.approx((3.0, 1.0))


def test_mean_accepted_is_pooled_and_leaves_the_first_token_out() -> None:
    done = [completion("a", "ar", (1, 2, 3, 4, 5), 1.0, rounds=2), completion("b", "ar", (1, 2, 3), 1.0, rounds=1)]
    assert summarise(done)[0].mean_accepted == pytest.approx((4 + 2) / 3)


def test_an_output_that_departs_is_listed_with_place_and_margin() -> None:
    done = [completion("a", "ar", (1, 2, 3), 1.0, 2), completion("a", "pld", (1, 9, 3), 1.0, 2)]
    assert summarise(done)[1].differences == (Difference("a", 1, 1.5),)


def test_an_output_that_goes_on_departs_where_the_other_ended() -> None:
    done = [completion("a", "ar", (1, 2), 1.0, 1), completion("a", "pld", (1, 2, 3), 1.0, 2)]
    assert summarise(done)[1].differences == (Difference("a", 2, 2.5),)


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
