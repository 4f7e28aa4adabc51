"""Scenarios out of plain values: every field, and what each refuses."""

from __future__ import annotations

import json

import pytest

from oospec_async.errors import OospecError
from sim.scenario.load import Poisson, Recorded, parse_load
from sim.scenario.parameters import text_of
from sim.scenario.placement import PLACEMENTS, Law, parse_placement
from sim.scenario.scenario import Scenario, scenario_of


def test_values_may_be_text_or_of_their_own_kind() -> None:
    read = scenario_of({"scale_sidecar": "0.5", "targets": "4", "sidecars": 2, "link_latency": 0.001, "jitter": "true"})
    assert read == Scenario(scale_sidecar=0.5, targets=4, sidecars=2, link_latency=0.001, jitter=True)
    assert scenario_of({"link_latency": "recorded"}).link_latency is None
    assert scenario_of({"scale_sidecar": "inf"}).scale_sidecar == float("inf")


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"placement": "splitt"}, "did you mean 'split'"),
        ({"placement": "fraction:shar=0.2"}, "did you mean 'share'"),
        ({"placement": "fraction:share=nan"}, "share: must be from 0.001 to 0.999, not nan"),
        ({"placement": "fraction:share=some"}, "share: a number is expected, not 'some'"),
        ({"placement": "split:x=1"}, "no parameters"),
        ({"placement": "tensor-parallel:ways=1.5"}, "whole number"),
        ({"placement": "tensor-parallel:ways=" + "9" * 5000}, "ways: a whole number is expected, not '9{29}…"),
        ({"placement": 3}, "must be text"),
        ({"load": "poison:rate=1"}, "did you mean 'poisson'"),
        ({"load": "poisson"}, "rate: missing; write poisson:KEY=NUMBER"),
        ({"scale_sidecar": "nan"}, "must be a number"),
        ({"scale_sidecar": True}, "must be a number"),
        ({"link_latency": "inf"}, "must be a number from"),
        ({"link_bandwidth": "wide"}, "from 1e-09 to"),
        ({"targets": "9" * 5000}, "whole number from 1"),
        ({"targets": 1.5}, "whole number from 1"),
        ({"seed": 10**5000}, "whole number from 0"),
        ({"jitter": "yes"}, "true or false"),
        ({"scale_sidcar": 1}, "did you mean 'scale_sidecar'"),
        ({"placement": "shared", "targets": 4, "sidecars": 2}, "sidecars must equal targets"),
    ],
)
def test_what_a_field_cannot_have_is_refused_and_named(values: dict[str, object], said: str) -> None:
    with pytest.raises(OospecError, match=said) as refused:
        scenario_of(values)
    assert len(str(refused.value)) < 200


@pytest.mark.parametrize(
    ("name", "least", "most"),
    [
        ("scale_sidecar", 1e-9, 1e9),
        ("link_latency", 0, 1e6),
        ("link_bandwidth", 1e-9, 1e18),
        ("targets", 1, 10_000),
        ("sidecars", 1, 10_000),
        ("seed", 0, 10**18),
        ("placement fraction:share", 0.001, 0.999),
        ("placement shared-fair:target_slowdown", 1, 1000),
        ("placement shared-fair:sidecar_slowdown", 1, 1000),
        ("placement tensor-parallel:ways", 1, 1000),
        ("placement tensor-parallel:communication", 0, 1000),
        ("load poisson:rate", 1e-4, 1e6),
        ("load recorded:speed", 1e-6, 1e6),
    ],
)
def test_every_number_has_its_limits(name: str, least: float, most: float) -> None:
    field, _, parameter = name.partition(" ")
    for value in (least, most):
        scenario_of({field: f"{parameter}={value}" if parameter else value})
    for value in (least - 1, most * 2, 1e308, -1e-320, 10**400):
        with pytest.raises(OospecError, match=name.rpartition(":")[2]) as refused:
            scenario_of({field: f"{parameter}={value}" if parameter else value})
        assert len(str(refused.value)) < 200


def test_an_infinite_speed_is_text_in_json() -> None:
    made = scenario_of({"scale_sidecar": "inf"})
    assert json.loads(json.dumps(made.as_json(), allow_nan=False))["scale_sidecar"] == "inf"
    assert "scale_sidecar=inf" in made.label


@pytest.mark.parametrize(("placement", "sidecars"), [("split", 1), ("shared", 4), ("shared-fair", 4)])
def test_a_shared_device_has_a_sidecar_for_every_target(placement: str, sidecars: int) -> None:
    assert scenario_of({"placement": placement, "targets": 4}).sidecars == sidecars


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
