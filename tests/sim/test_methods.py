"""Methods over recorded profiles."""

from __future__ import annotations

import pytest

from helpers.sim_traces import random_requests, request, trace
from oospec_async.errors import OospecError
from sim.costs.recording import Recording
from sim.scenario.methods import find_method

HINTED = request("r", 9, without=[(2, 1)] * 8, hinted=[[(5, 2)] * 8, [(6, 0)] * 8])


def recording(*runs: object) -> Recording:
    return Recording(trace(list(runs) or [HINTED]))  # type: ignore[arg-type]


def test_one_recorded_run_stands_behind_all_methods() -> None:
    known = recording()
    drafted = {
        name: {v: p.drafted[0] for v, p in find_method(known, name).drafts("r").profiles.items()}
        for name in ("ar", "toolspec", "oospec", "oospec@never", "perfect")
    }
    assert drafted == {
        "ar": {0: 0},
        "toolspec": {0: 2},
        "oospec": {0: 2, 1: 5, 2: 6},
        "oospec@never": {0: 2},
        "perfect": {0: 6},
    }
    zero = find_method(known, "oospec@zero").drafts("r")
    assert zero.version == 2
    assert (zero.wave, zero.listens) == (False, False)
    assert find_method(known, "oospec").listens
    assert find_method(known, "oospec@never").wave


def test_a_toolspec_that_was_recorded_itself_is_replayed_by_its_own_profile() -> None:
    own = request("r", 9, without=[(3, 1)] * 8, method="toolspec", steps=0)
    assert find_method(recording(HINTED, own), "toolspec").drafts("r").profiles[0].drafted[0] == 3


def test_any_recorded_mix_is_a_method() -> None:
    mixed = request("r", 9, without=[(4, 1)] * 8, method="schema+lookup", steps=0)
    method = find_method(recording(HINTED, mixed), "schema+lookup")
    assert not method.wave
    assert method.drafts("r").profiles[0].drafted[0] == 4


@pytest.mark.parametrize(
    ("name", "said"), [("tolspec", "toolspec"), ("oospec@zerro", "oospec@zero"), ("medusa", "known are ar")]
)
def test_an_unknown_method_is_refused_with_a_suggestion(name: str, said: str) -> None:
    with pytest.raises(OospecError, match=said):
        find_method(recording(), name)


def test_without_profiles_only_ar_is_left() -> None:
    bare = recording(HINTED.model_copy(update={"profiles": []}))
    assert find_method(bare, "ar").drafts("r").profiles[0].drafted == [0] * 8
    for name in ("toolspec", "perfect"):
        with pytest.raises(OospecError, match="profiles"):
            find_method(bare, name)
    with pytest.raises(OospecError, match="'r' by 'oospec' has no profiles"):
        find_method(bare, "oospec")


def test_requests_keep_their_order() -> None:
    runs = random_requests(5, 9)
    assert find_method(recording(*runs[::-1]), "oospec").requests == tuple(r.request for r in runs[::-1])
