"""Scenarios out of plain values: every field, and what each refuses."""

from __future__ import annotations

import pytest

from oospec_async.errors import OospecError
from sim.load import Poisson, Recorded, parse_load
from sim.placement import PLACEMENTS, Law, parse_placement
from sim.scenario import Scenario, scenario_of
from sim.spelling import text_of


def test_values_may_be_text_or_of_their_own_kind() -> None:
    read = scenario_of({"scale_sidecar": "0.5", "targets": "4", "sidecars": 2, "link_latency": 0.001, "jitter": "true"})
    assert read == Scenario(scale_sidecar=0.5, targets=4, sidecars=2, link_latency=0.001, jitter=True)
    assert scenario_of({"link_latency": "recorded"}, Scenario(link_latency=1.0)).link_latency is None
    assert scenario_of({"scale_sidecar": "inf"}).scale_sidecar == float("inf")


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"placement": "splitt"}, "did you mean 'split'"),
        ({"placement": "fraction:shar=0.2"}, "did you mean 'share'"),
        ({"placement": "fraction:share=2"}, "between 0 and 1"),
        ({"placement": "fraction:share=nan"}, "finite"),
        ({"placement": "fraction:share=some"}, "number"),
        ({"placement": "split:x=1"}, "no parameters"),
        ({"placement": "tensor-parallel:ways=1.5"}, "whole number"),
        ({"placement": "shared-fair:target_slowdown=0.5"}, "1 or more"),
        ({"placement": 3}, "must be text"),
        ({"load": "poison:rate=1"}, "did you mean 'poisson'"),
        ({"load": "poisson"}, "rate is missing"),
        ({"load": "poisson:rate=0"}, "above 0"),
        ({"scale_sidecar": 0}, "above 0"),
        ({"scale_sidecar": "nan"}, "above 0"),
        ({"scale_sidecar": True}, "above 0"),
        ({"link_latency": -1}, "at least 0"),
        ({"link_bandwidth": "wide"}, "above 0"),
        ({"targets": 0}, "whole number of at least 1"),
        ({"seed": -1}, "whole number"),
        ({"jitter": "yes"}, "true or false"),
        ({"scale_sidcar": 1}, "did you mean 'scale_sidecar'"),
        ({"placement": "shared", "targets": 4, "sidecars": 2}, "sidecars must equal targets"),
    ],
)
def test_what_a_field_cannot_have_is_refused_and_named(values: dict[str, object], said: str) -> None:
    with pytest.raises(OospecError, match=said):
        scenario_of(values)


def test_text_of_a_placement_or_load_reads_back() -> None:
    for text in ("split", "shared", "shared-fair", "fraction:share=0.1", "tensor-parallel:ways=4,communication=0.001"):
        assert parse_placement(text_of(parse_placement(text))) == parse_placement(text)
    assert text_of(parse_load("poisson:rate=2.5")) == "poisson:rate=2.5"
    assert parse_load(" poisson : rate = 2 ") == Poisson(2.0)
    assert parse_load("recorded") == Recorded(1.0)


def test_every_placement_says_what_it_is() -> None:
    assert all(kind.about for kind in PLACEMENTS.values())
    assert all(name == kind.name for name, kind in PLACEMENTS.items())


def test_laws() -> None:
    assert Law()(7) == 7
    assert Law(2.0, 5)(10) == 25
    assert Law(0.5).faster(2)(100) == 25
    assert Law().faster(float("inf"))(10**9) == 1
    cut = parse_placement("fraction:share=0.2").layout()
    assert (cut.target(80), cut.sidecar(80), cut.target_alone(80)) == (100, 400, 80)
    wide = parse_placement("tensor-parallel:ways=4,communication=1e-6").layout()
    assert (wide.target(4000), wide.target_devices) == (2000, 4)
    assert parse_placement("shared-fair").layout((1.2, 3.0)).slowdown == (1.2, 3.0)
    assert parse_placement("shared-fair:target_slowdown=1.5").layout((1.2, 3.0)).slowdown == (1.5, 3.0)


def test_the_label_names_what_is_not_usual() -> None:
    made = scenario_of({"placement": "shared", "seed": 3})
    assert made.label == "method=oospec placement=shared load=closed seed=3"
