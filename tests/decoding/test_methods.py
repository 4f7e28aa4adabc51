"""Methods are compositions of drafters, named or mixed."""

from __future__ import annotations

import pytest

from oospec_async.decoding.drafters import DRAFTERS, METHODS, drafters_of
from oospec_async.errors import OospecError


def test_methods_differ_by_their_drafters_alone() -> None:
    assert [d.name for d in drafters_of("ar")] == []
    assert [d.name for d in drafters_of("pld")] == ["lookup"]
    assert [d.name for d in drafters_of("oospec")] == [*(d.name for d in drafters_of("toolspec")), "hint"]


def test_any_mix_can_be_named() -> None:
    assert [d.name for d in drafters_of("schema+hint")] == ["schema", "hint"]


@pytest.mark.parametrize("method", ["", "oospecs", "schema+", "schema+magic"])
def test_an_unknown_name_is_refused_with_the_known_ones(method: str) -> None:
    with pytest.raises(OospecError, match=r"oospec.*recycle") as refused:
        drafters_of(method)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("method", ["toolspec+hint", "schema+toolspec"])
def test_a_mix_of_mixes_is_refused_with_the_drafters_to_name(method: str) -> None:
    with pytest.raises(OospecError, match=r"schema\+history\+recycle"):
        drafters_of(method)


def test_a_drafter_twice_is_refused() -> None:
    with pytest.raises(OospecError, match="twice"):
        drafters_of("hint+hint")


def test_every_drafter_is_registered_under_its_own_name() -> None:
    assert all(drafter.name == name for name, drafter in DRAFTERS.items())
    assert {name for names in METHODS.values() for name in names} <= DRAFTERS.keys()
