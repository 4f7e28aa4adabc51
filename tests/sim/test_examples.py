"""The studies that come along hold on the trace that comes along."""

from __future__ import annotations

from pathlib import Path

import pytest

from oospec_async.trace import check_trace
from sim.figures.simulator import open_simulator
from sim.study.assertions import judge
from sim.study.spec import read_study

ROOT = Path(__file__).parent.parent.parent
STUDIES = sorted((ROOT / "examples" / "studies").glob("*.toml"))


def test_the_trace_is_whole() -> None:
    assert check_trace(ROOT / "traces" / "qwen3-14b.json") == []


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.stem)
def test_every_assertion_holds(path: Path) -> None:
    study = read_study(path)
    simulator = open_simulator(study.trace, study.colocated)
    figures = [simulator.run(scenario).figures for scenario in study.scenarios]
    assert study.assertions
    for assertion in study.assertions:
        assert not judge(assertion, figures).failures, assertion.text


def test_there_are_studies() -> None:
    assert len(STUDIES) >= 5
