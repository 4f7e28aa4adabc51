"""A target that raises or runs out of memory: one line for that request, its cache is freed, the next is served."""

from __future__ import annotations

import asyncio
import json
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from faults.conftest import REQUESTS
from faults.preloaded import Preloaded
from helpers import tiny
from helpers.stubs import CALL, ask
from oospec_async.decoding.tree import VerifyCurve
from oospec_async.runtime.engine import Engine
from oospec_async.runtime.executor import InlineExecutor
from oospec_async.runtime.failure import RequestFailed
from oospec_async.runtime.parts import Parts
from oospec_async.target.prompts import Prompts
from oospec_async.testing import ScriptedTarget, scripted_engine


def _raise(error: Exception) -> Callable[[], Any]:
    def fail() -> None:
        raise error

    return fail


MEMORY = "request 'lost': the target's device is out of memory"
FAILURES: dict[str, tuple[Callable[[], Any], str]] = {
    "RuntimeError": (_raise(RuntimeError("a kernel\nfailed")), "the target failed (RuntimeError: a kernel failed)"),
    "no words": (_raise(RuntimeError()), "the target failed (RuntimeError)"),
    "CUDA": (_raise(torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")), MEMORY),
    "CPU": (lambda: torch.empty(1 << 52, dtype=torch.uint8), MEMORY),  # torch's own words, whatever they are
    "Python": (_raise(MemoryError()), MEMORY),
    "cuBLAS": (_raise(RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate`")), MEMORY),
    "an index": (_raise(IndexError("out of range")), "the target failed (IndexError: out of range)"),
}


def engine_on(model: Any) -> Engine:
    prompts, target = Prompts(tiny.tokenizer(), "tiny"), tiny.target_of(model)
    parts = Parts(target, InlineExecutor(), prompts, tiny.codec(), VerifyCurve(), method="toolspec", reuse_prefix=True)
    return Engine(parts)


@pytest.mark.parametrize("when", [1, 2, 9], ids=["prefill", "first verify", "later verify"])
@pytest.mark.parametrize("failure", FAILURES)
def test_the_request_fails_with_one_line_its_cache_is_freed_and_the_next_is_right(failure: str, when: int) -> None:
    fail, said = FAILURES[failure]
    model = tiny.random_model("llama")
    engine = engine_on(model)
    cache: Any = engine.parts.target.model._cache  # type: ignore[attr-defined]
    forward, calls = model.model.forward, 0

    def failing(*arguments: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        given = forward(*arguments, **options)  # rows are in the cache already
        if calls == when:
            fail()
        return given

    before, after = (tiny.request(text, id=text, max_new_tokens=24) for text in ("before", "after"))
    served = asyncio.run(engine.generate(before))
    model.model.forward = failing
    blocks = [weakref.ref(block) for pair in cache._blocks for block in pair]
    with pytest.raises(RequestFailed) as failed:
        asyncio.run(engine.generate(tiny.request("lost", id="lost", max_new_tokens=24)))
    line = str(failed.value)
    assert said in line
    assert line.startswith("request 'lost'")
    assert len(line.splitlines()) == 1
    assert (cache.length, cache._blocks) == (0, [])
    assert {block() for block in blocks} == {None}, "an exception that is kept must not keep tensors"
    model.model.forward = forward
    for asked, got in ((after, None), (before, served)):
        tokens = list((got or asyncio.run(engine.generate(asked))).tokens)
        assert tokens == tiny.generate(model, tiny.prompt_ids(asked), 24)


def test_what_is_no_fault_of_the_target_passes_as_it_is() -> None:
    target = ScriptedTarget(CALL)
    engine = scripted_engine(target, method="ar")
    target.before_verify = lambda round_: _raise(KeyboardInterrupt())()  # type: ignore[arg-type]
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(engine.generate(ask()))


FAILS_IN_R1 = """
import torch
from oospec_async.target.target import Target
prefill, prompts = Target.prefill, []
def failing(self, prompt, **options):
    prompts.append(prompt)
    if len(prompts) == 3:  # the first is that of the calibration
        torch.empty(1 << 52, dtype=torch.uint8)
    return prefill(self, prompt, **options)
Target.prefill = failing
"""
FAILS_ALWAYS = """
from oospec_async.target.target import Target
verify, calls = Target.verify, []
def failing(self, *arguments):
    calls.append(0)
    if len(calls) > 21:  # those of the calibration
        raise RuntimeError("CUDA error: an illegal memory access was encountered")
    return verify(self, *arguments)
Target.verify = failing
"""


def test_a_command_serves_the_others_and_names_the_one_that_failed(
    command: Preloaded, live: list[object], tmp_path: Path
) -> None:
    trace = tmp_path / "trace.json"
    done = command.run(*live, "--record", trace, "--json", patches=FAILS_IN_R1)
    assert done.code == 2
    (line,) = [line for line in done.err.splitlines() if line.startswith("oospec-run:")]
    assert line.startswith("oospec-run: by oospec, request 'r1': the target's device is out of memory")
    assert "Traceback" not in done.err
    result = json.loads(done.out)
    others = [f"r{n}" for n in range(REQUESTS) if n != 1]
    assert [completion["request"] for completion in result["completions"]] == others
    assert [(failure["request"], failure["method"]) for failure in result["failures"]] == [("r1", "oospec")]
    assert [run["request"] for run in json.loads(trace.read_text())["requests"]] == others
    assert done.left == []


def test_a_command_of_which_all_requests_fail_says_so_in_one_line(command: Preloaded, live: list[object]) -> None:
    done = command.run(*live, patches=FAILS_ALWAYS)
    assert done.code == 2
    (line,) = [line for line in done.err.splitlines() if line.startswith("oospec-run:")]
    assert "request 'r0': the target failed (RuntimeError: CUDA error" in line
    assert f"{REQUESTS - 1} more failed: 'r1' by oospec, 'r2' by oospec, 'r3' by oospec" in line
    assert done.out.count("failed: request") == REQUESTS
