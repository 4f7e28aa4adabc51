"""Costs from the samples of all requests, or of some."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.sim_traces import PLAIN, observed, random_requests, retimed, trace
from oospec_async.errors import OospecError
from oospec_async.trace import HostSample
from sim.costs.costs import Costs
from sim.costs.nanoseconds import forward_ns, whole_ns
from sim.costs.recording import Recording


def test_a_request_has_its_own_prefill_and_wave_and_without_them_those_of_others() -> None:
    recording = Recording(trace(random_requests(40, 1), noise=0.2))
    run = sorted(recording.trace.requests, key=lambda run: run.prompt_tokens)[20]
    own = next(s.seconds for s in recording.trace.timing.target_prefill if s.request == run.request)
    assert run.wave is not None
    with_all, without = Costs(recording), Costs(recording, only=set(recording.requests) - {run.request})
    assert with_all.prefill(run.request, run.prompt_tokens) == own
    assert without.prefill(run.request, run.prompt_tokens) != own
    assert without.prefill(run.request, run.prompt_tokens) == pytest.approx(own, rel=0.5)
    assert with_all.sidecar_forward(run.request, run.wave.steps[2]) == run.wave.steps[2].seconds
    assert without.sidecar_forward(run.request, run.wave.steps[2]) == pytest.approx(PLAIN.step, rel=0.25)


def test_left_out_samples_are_not_used() -> None:
    recording = Recording(trace(random_requests(6, 2)))
    nothing = Costs(recording, only=set())
    with pytest.raises(OospecError, match=r"timing\.target_verify: empty"):
        nothing.target_verify  # noqa: B018


def test_host_time_is_that_of_the_method_where_its_rounds_were_recorded() -> None:
    recording = Recording(observed(trace(random_requests(6, 3))))
    host = Costs(recording).host("oospec")
    assert np.median(host.later) == pytest.approx(PLAIN.host, abs=2e-9)
    assert np.median(host.first) == pytest.approx(PLAIN.host, abs=1e-6)
    made_up = trace(random_requests(6, 3))
    assert Costs(Recording(made_up)).host("ar").later.tolist() == [PLAIN.host] * 6


def test_without_any_host_samples_the_host_takes_no_time() -> None:
    made_up = trace(random_requests(3, 3))
    without = retimed(made_up, host=[])
    assert Costs(Recording(without)).host("oospec").later.tolist() == [0.0]
    assert HostSample(request="r", seconds=0).seconds == 0


@pytest.mark.parametrize("seconds", [1e10, 1e300, float("inf"), float("nan")])
def test_a_time_that_does_not_fit_is_refused_rather_than_wrapped(seconds: float) -> None:
    assert whole_ns([1e6]) == [10**15]
    with pytest.raises(OospecError, match="timing"):
        forward_ns([0.1, seconds])


def test_forwards_take_a_nanosecond_at_least() -> None:
    assert forward_ns([0.0, 1e-12, 1.5e-9, 1.0]) == [1, 1, 2, 10**9]
    assert whole_ns(0.0) == [0]
