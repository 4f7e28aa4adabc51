"""Real weights, in short: the same ids as ``transformers``' generate, and the command that users run."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import torch

from oospec_async import Engine, EngineConfig, Request, read_requests
from oospec_async.completion import Completion
from oospec_async.target.target import Target
from oospec_async.trace import check_trace
from oospec_async.weights import DEFAULT_SIDECAR

pytestmark = pytest.mark.real
EXAMPLES = Path(__file__).parents[2] / "examples" / "requests.jsonl"
METHODS = ("ar", "pld", "toolspec", "oospec")
NEAR_TIE = 0.5  # logits: a bfloat16 output may depart from greedy only where the best two are this close


@pytest.fixture(autouse=True)
def online(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first run on a machine fetches the weights."""
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)


def generate(engine: Engine, request: Request) -> tuple[int, ...]:
    target = engine.parts.target
    assert isinstance(target, Target)
    prompt = engine.parts.prompts.ids(request)
    ids = torch.tensor([prompt])
    output = target.model.model.generate(
        ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=request.max_new_tokens
    )
    return tuple(output[0, len(prompt) :].tolist())


async def outputs(request: Request, dtype: str) -> AsyncIterator[tuple[str, tuple[int, ...], Completion]]:
    """Method, ids of ``generate``, and what the default pair makes of the request by the method."""
    async with Engine.open(EngineConfig(devices="cpu", dtype=dtype)) as engine:
        expected = generate(engine, request)
        for method in METHODS:
            yield method, expected, await engine.generate(request, method)


def test_in_float32_every_method_gives_the_ids_of_generate() -> None:
    async def check() -> None:
        async for method, expected, done in outputs(read_requests(EXAMPLES)[0], "float32"):
            assert done.tokens == expected, method

    asyncio.run(check())


def test_in_bfloat16_methods_depart_from_generate_at_near_ties_only() -> None:
    async def check() -> None:
        async for method, expected, done in outputs(read_requests(EXAMPLES)[1], "bfloat16"):
            pairs = zip(done.tokens, expected, strict=False)
            departure = next((i for i, (a, b) in enumerate(pairs) if a != b), None)
            assert departure is None or done.margins[departure] < NEAR_TIE, (method, departure)
            assert departure is not None or len(done.tokens) == len(expected), method

    asyncio.run(check())


def test_the_command_compares_methods_and_writes_what_it_is_asked_for(tmp_path: Path) -> None:
    trace, timeline = tmp_path / "trace.json", tmp_path / "timeline.html"
    command = [sys.executable, "-c", "from oospec_async.console.entry import main; main()", "--live", "--json"]
    options = ["--limit", "1", "--compare", "ar,oospec", "--target", DEFAULT_SIDECAR, "--max-new-tokens", "24"]
    devices = ["--devices", "cpu", "--dtype", "float32"]
    files = ["--record", str(trace), "--timeline", str(timeline)]
    done = subprocess.run(
        [*command, *options, *devices, *files], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert [summary["method"] for summary in result["summary"]] == ["ar", "oospec"]
    ar, oospec = result["completions"]
    assert ar["tokens"] == oospec["tokens"]
    assert ar["metrics"]["rounds"] == ar["metrics"]["output_tokens"] - 1
    assert oospec["metrics"]["hint"]["versions"] >= 1
    assert check_trace(trace) == []  # among others: every round is that of its profile
    recorded = json.loads(trace.read_text())
    assert [run["method"] for run in recorded["requests"]] == ["ar", "oospec"]
    assert sum(r["committed"] for r in recorded["requests"][1]["rounds"]) == oospec["metrics"]["output_tokens"] - 1
    assert "plotly" in timeline.read_text(encoding="utf-8")
