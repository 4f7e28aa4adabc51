"""A profile tells at every position what the drafters draft there and what the target's output accepts of it."""

from __future__ import annotations

from dataclasses import replace

from helpers.recorded import Case, serve
from helpers.stubs import HINT, call
from oospec_async.decoding.tree import VerifyCurve
from oospec_async.recording.profile import Decode, profiles


def decoded(answer: str, method: str = "oospec", max_new_tokens: int = 256) -> Decode:
    """A stub engine's only request, served without a hint."""
    (served,) = serve([Case("r", answer, max_new_tokens=max_new_tokens)], method).recorder.served
    return served.decode


def test_there_is_a_profile_without_a_hint_and_one_for_each_version_in_their_order() -> None:
    made = profiles(decoded(call("Paris")), [HINT, replace(HINT, version=4)])
    assert [profile.version for profile in made] == [0, 1, 4]
    assert all(len(p.drafted) == len(p.accepted) == len(call("Paris")) for p in made)  # its end token is the one more


def test_a_hint_that_is_the_output_is_accepted_up_to_the_last_token_that_the_tree_or_the_output_has() -> None:
    plain, hinted = profiles(decoded(call("Paris")), [HINT])
    left = range(len(call("Paris")) - 1, -1, -1)  # tokens that follow, the end token aside
    assert all(accepted <= rest for accepted, rest in zip(hinted.accepted, left, strict=True))
    assert hinted.accepted[-10:] == list(left)[-10:]
    assert sum(hinted.accepted) > sum(plain.accepted)


def test_the_last_token_is_never_counted_as_accepted() -> None:
    for limit in (256, 40):
        output = decoded(call("Paris"), max_new_tokens=limit)
        for profile in profiles(output, [HINT]):
            assert profile.accepted[-1] == 0
            assert max(i + 1 + a + 1 for i, a in enumerate(profile.accepted)) <= len(output.output)


def test_without_drafters_nothing_is_drafted() -> None:
    (profile, hinted) = profiles(decoded(call("Paris"), "ar"), [HINT])
    assert set(profile.drafted) == set(profile.accepted) == set(hinted.drafted) == {0}


def test_an_output_of_one_token_has_an_empty_profile() -> None:
    (profile,) = profiles(decoded("x", max_new_tokens=1), [])
    assert profile.drafted == profile.accepted == []


def test_the_budget_curve_decides_how_much_is_drafted() -> None:
    generous = decoded(call("Paris"))
    steep = replace(generous, setting=replace(generous.setting, curve=VerifyCurve(((1, 1.0), (2, 9.0)))))
    assert sum(profiles(generous, [HINT])[1].drafted) > 0
    assert sum(profiles(steep, [HINT])[1].drafted) == 0


def test_profiling_changes_nothing_and_gives_the_same_again() -> None:
    engine = serve([Case("a", call("Paris")), Case("b", call("Rome"))], "oospec")
    before = [dict(served.decode.setting.memory.successors) for served in engine.recorder.served]
    first = [profiles(served.decode, [HINT]) for served in engine.recorder.served]
    assert [profiles(served.decode, [HINT]) for served in engine.recorder.served] == first
    assert [dict(served.decode.setting.memory.successors) for served in engine.recorder.served] == before


def test_history_is_taken_as_it_stood_at_the_requests_start() -> None:
    engine = serve([Case("a", call("Paris")), Case("b", call("Paris"))], "history")
    first, second = (profiles(served.decode, [])[0] for served in engine.recorder.served)
    assert sum(first.drafted) == 0  # cold, whatever was learned since
    assert sum(second.accepted) > 0
