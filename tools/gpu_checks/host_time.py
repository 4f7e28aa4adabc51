"""Time that the device waits between two verifies: commit, poll, draft and the way to the executor and back."""

from __future__ import annotations

import contextlib
from itertools import pairwise
from typing import Any

import numpy as np

from oospec_async.console.table import Table
from oospec_async.errors import OospecError
from oospec_async.events import Event
from oospec_async.runtime.engine import Engine
from oospec_async.runtime.parts import Parts
from oospec_async.target.codec import TokenizerCodec
from oospec_async.target.greedy import GreedyRule
from oospec_async.target.prompts import Prompts
from oospec_async.target.target import Target
from oospec_async.target.tree_model import TreeModel
from tools.gpu_checks.base import Bench, Outcome
from tools.gpu_checks.randoms import free, request, shaped_model, tokenizer

_METHOD = "recycle+lookup"
_CONTEXT = 4096


async def _events(bench: Bench) -> list[Event]:
    """Of so many rounds of the engine on random output."""
    shape, device = bench.preset.shapes[0], bench.devices[0].torch_name
    bench.say(f"host time: {shape.name}, making it", 0.0)
    letters = tokenizer(shape.vocabulary)
    model = await bench.executor.run(lambda: shaped_model(shape, device, _CONTEXT))
    target = Target(TreeModel(model), GreedyRule.from_config(model.generation_config, shape.name))
    curve = await bench.executor.run(target.calibrate)
    parts = Parts(
        target,
        bench.executor,
        Prompts(letters, shape.name),
        TokenizerCodec(letters),
        curve,
        method=_METHOD,
        record=True,
    )
    engine, chunks = Engine(parts), 0
    bench.say(f"host time: {shape.name}, {bench.preset.rounds} rounds", 0.5)  # no word more: it would take host time
    async with contextlib.aclosing(engine.stream(request(_CONTEXT))) as stream:
        async for _ in stream:
            chunks += 1
            if chunks > bench.preset.rounds:  # the first one is the prefill's
                break
    return engine.recorder.events


def _spread(seconds: list[float]) -> dict[str, float]:
    middle, high = np.percentile(seconds, [50, 99]) * 1e3
    return {"median_ms": float(middle), "p99_ms": float(high)}


async def check(bench: Bench) -> Outcome:
    events = await _events(bench)
    free(bench.devices[0].torch_name)
    verifies = [event for event in events if (event.track, event.name) == ("target", "verify")]
    if len(verifies) < 2:
        raise OospecError("the output ended before two rounds")
    gaps = [(after.start_ns - before.end_ns) / 1e9 for before, after in pairwise(verifies)]
    parts: dict[str, dict[str, float]] = {
        "verify": _spread([event.seconds for event in verifies]),
        "between verifies": _spread(gaps),
    }
    for name in ("commit", "draft"):
        parts[name] = _spread([event.seconds for event in events if (event.track, event.name) == ("host", name)])
    nodes = float(np.mean([event.data["tokens"] for event in verifies]))
    committed = sum(event.data["committed"] for event in verifies)
    shape = bench.preset.shapes[0].name
    figures: dict[str, Any] = {"shape": shape, "method": _METHOD, "rounds": len(verifies), "committed": committed}
    figures |= {"mean_tokens_in_tree": nodes, "times": parts}
    title = (
        f"Host time between rounds: {shape} on {bench.devices[0].name}, {_METHOD}, {len(verifies)} rounds of "
        f"{nodes:.1f} tokens, {committed} committed"
    )
    rows = []
    for name, spread in parts.items():
        indent = "  " if name in ("commit", "draft") else ""
        rows.append([f"{indent}{name}", f"{spread['median_ms']:.3f}", f"{spread['p99_ms']:.3f}"])
    return Outcome(None, figures, [Table(title, ("ms", "median", "p99"), rows)])
