"""The engine on one device, a real sidecar process on the other: same ids with it, without it, and when it is killed.

The sidecar's wave is advice: an honest one, one that is killed in mid-wave and none at all must leave the output alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import tempfile
import time
from pathlib import Path
from typing import Any

import torch

from oospec_async.commands.summary import departure
from oospec_async.completion import Completion
from oospec_async.console.table import Table, cell
from oospec_async.errors import OospecError
from oospec_async.request import Request
from oospec_async.runtime.engine import Engine
from oospec_async.runtime.parts import Parts
from oospec_async.sidecar.messages import SidecarConfig
from oospec_async.sidecar.process import SidecarProcess
from oospec_async.target.codec import TokenizerCodec
from oospec_async.target.greedy import GreedyRule
from oospec_async.target.prompts import Prompts
from oospec_async.target.target import Target
from oospec_async.target.tree_model import TreeModel
from tools.gpu_checks.base import Bench, Outcome
from tools.gpu_checks.randoms import random_model, request, tokenizer

_TOKENS = 256
_RESTART_SECONDS = 90.0
_TARGET_LAYERS, _SIDECAR_LAYERS = 2, 8  # a wave must last long enough to be killed


def _model(letters: Any, layers: int, seed: int) -> Any:
    """Made on the CPU, so that every device gets the same weights."""
    return random_model(
        "llama",
        "cpu",
        torch.float32,
        seed=seed,
        std=0.3,
        vocab_size=len(letters),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=layers,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=4096,
    )


def _saved(letters: Any, folder: str) -> Path:
    _model(letters, _SIDECAR_LAYERS, seed=1).save_pretrained(folder)
    letters.save_pretrained(folder)
    return Path(folder)


async def _killed(engine: Engine, sidecar: SidecarProcess, asked: Request) -> Completion:
    """Serve a request; kill the sidecar as soon as a hint of it has come, or when half of the output is there."""
    tokens = 0
    pid = sidecar.pid
    async with contextlib.aclosing(engine.stream(asked, "oospec")) as stream:
        async for item in stream:
            if isinstance(item, Completion):
                return item
            tokens += len(item.tokens)
            hinted = any(event.name == "poll" for event in engine.recorder.events)
            if pid is not None and (hinted or tokens >= asked.max_new_tokens // 2):
                os.kill(pid, signal.SIGKILL)
                pid = None
    raise AssertionError("a stream ends with its completion")


async def _restarted(sidecar: SidecarProcess, old: int) -> None:
    deadline = time.monotonic() + _RESTART_SECONDS
    while sidecar.pid in (None, old):
        if time.monotonic() > deadline:
            raise OospecError(f"the sidecar was killed and is not back after {_RESTART_SECONDS:.0f} s")
        await asyncio.sleep(0.05)


async def _runs(bench: Bench, engine: Engine, sidecar: SidecarProcess) -> dict[str, Completion]:
    asked, done = request(_TOKENS), dict[str, Completion]()

    async def run(name: str, method: str = "oospec") -> None:
        bench.say(f"workers: {name}", 0.1 * len(done) + 0.4)
        engine.forget()
        engine.recorder.events.clear()
        killing = name == "killed in mid-wave"
        done[name] = await (_killed(engine, sidecar, asked) if killing else engine.generate(asked, method))

    await run("ar", "ar")
    await run("first wave")
    await run("second wave")
    pid = sidecar.pid
    if pid is None:
        raise OospecError("the sidecar has died by itself")
    await run("killed in mid-wave")
    await run("without a worker")
    if bench.preset.restarts:
        bench.say("workers: waiting for the restart", 0.9)
        await _restarted(sidecar, pid)
        await run("after its restart")
    return done


async def check(bench: Bench) -> Outcome:
    letters = tokenizer()
    device = bench.devices[0].torch_name
    async with contextlib.AsyncExitStack() as stack:
        bench.say("workers: starting the sidecar", 0.0)
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        path = _saved(letters, folder)
        sidecar = SidecarProcess(SidecarConfig(path, "the random sidecar", bench.devices[1], "float32"))
        stack.push_async_callback(sidecar.close)
        start = time.monotonic()
        await sidecar.start()
        started = time.monotonic() - start
        model = await bench.executor.run(lambda: _model(letters, _TARGET_LAYERS, seed=0).to(device))
        target = Target(TreeModel(model), GreedyRule.from_config(model.generation_config, "the random target"))
        curve = await bench.executor.run(target.calibrate)
        prompts, codec = Prompts(letters, "the random target"), TokenizerCodec(letters)
        engine = Engine(Parts(target, bench.executor, prompts, codec, curve, sidecar, record=True, finish_waves=True))
        done = await _runs(bench, engine, sidecar)
        restarts = sidecar.restarts
    return _outcome(bench, done, started, restarts)


def _outcome(bench: Bench, done: dict[str, Completion], started: float, restarts: int) -> Outcome:
    names = [device.name for device in bench.devices]
    title = f"Workers: target on {names[0]}, sidecar on {names[1]} (started in {started:.1f} s), random models"
    heads = ("run", "ids equal ar's", "rounds", "decode ms", "hints", "first hint ms", "at token", "wave ms", "hidden")
    cells: list[list[str]] = []
    rows: dict[str, dict[str, Any]] = {}
    for name, completion in done.items():
        metrics, hint = completion.metrics, completion.metrics.hint
        difference = _difference(done["ar"], completion)
        rows[name] = {
            "equal": difference is None,
            "difference": difference,
            "tokens": metrics.output_tokens,
            "rounds": metrics.rounds,
            "decode_ms": metrics.decode_seconds * 1e3,
            "hints": hint.versions,
            "hint_arrival_ms": None if hint.arrival_seconds is None else hint.arrival_seconds * 1e3,
            "hint_arrival_token": hint.arrival_position,
            "payload_bytes": hint.payload_bytes,
            "wave_ms": None if hint.wave_seconds is None else hint.wave_seconds * 1e3,
            "wave_hidden": hint.wave_hidden,
        }
        row = rows[name]
        told = [
            name,
            "yes" if difference is None else "NO",
            str(metrics.rounds),
            f"{row['decode_ms']:.0f}",
            str(hint.versions),
            cell(row["hint_arrival_ms"], "{:.1f}"),
            cell(hint.arrival_position, "{}"),
            cell(row["wave_ms"], "{:.1f}"),
            cell(hint.wave_hidden, "{:.0%}"),
        ]
        cells.append(told)
    gap = min(done["ar"].margins)
    figures = {"sidecar_start_seconds": started, "restarts": restarts, "gap_smallest": gap, "runs": rows}
    reason = _reason(rows)
    return Outcome(not reason, figures, [Table(title, heads, cells)], reason)


def _difference(reference: Completion, other: Completion) -> dict[str, Any] | None:
    """Where two outputs part, and by how much the best logit beat the second there."""
    position = departure(other.tokens, reference.tokens)
    if position is None:
        return None
    shorter = min(len(reference.tokens), len(other.tokens))
    return {"position": position, "gap": reference.margins[position] if position < shorter else None}


def _reason(rows: dict[str, dict[str, Any]]) -> str:
    differing = [
        f"{name} (token {d['position']}, logit gap {d['gap']})"
        for name, row in rows.items()
        if (d := row["difference"])
    ]
    if differing:
        return f"ids differ from those of ar: {', '.join(differing)}"
    honest = ("first wave", "second wave", "after its restart")
    silent = [name for name in honest if name in rows and rows[name]["wave_ms"] is None]
    if silent:
        return f"no wave ended: {', '.join(silent)}"
    if rows["killed in mid-wave"]["wave_ms"] is not None:
        return "the wave ended before the sidecar was killed"
    return ""
