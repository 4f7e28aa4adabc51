"""Open an engine on real models."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from oospec_async.decoding.drafters import drafters_of
from oospec_async.models.codec import TokenizerCodec
from oospec_async.models.fetch import ModelFiles, resolve
from oospec_async.models.greedy import GreedyRule
from oospec_async.models.load import load
from oospec_async.models.prompts import Prompts
from oospec_async.models.target import Target
from oospec_async.models.tree_model import TreeModel
from oospec_async.provenance import Setup
from oospec_async.runtime.config import EngineConfig, Report
from oospec_async.runtime.devices import Device, default_devices, parse_devices
from oospec_async.runtime.engine import Engine, Parts
from oospec_async.runtime.executor import ThreadExecutor
from oospec_async.runtime.sidecar_process import SidecarConfig, SidecarProcess
from oospec_async.trace import ModelInfo


@contextlib.asynccontextmanager
async def open_engine(config: EngineConfig, report: Report) -> AsyncIterator[Engine]:
    """Resolve and load models, calibrate, start the sidecar; everything is closed at the end, workers included.

    ``report`` is told, a line each, what is being done and which weights were taken. Raises OospecError.
    """
    drafters_of(config.method)
    devices = parse_devices(config.devices or default_devices())
    async with contextlib.AsyncExitStack() as stack:
        sidecar, sidecar_info = None, None
        if config.sidecar is not None:
            files = _resolve(config.sidecar, "sidecar", report)
            sidecar_info = _info(files, config, devices[1], config.adapter)
            worker = SidecarConfig(files.path, config.sidecar, devices[1], config.dtype, config.adapter)
            sidecar = SidecarProcess(worker)
            stack.push_async_callback(sidecar.close)
        files = _resolve(config.target, "target", report)
        executor = ThreadExecutor(devices[0])
        stack.callback(executor.close)
        report("loading the models")
        starting = asyncio.ensure_future(sidecar.start() if sidecar is not None else asyncio.sleep(0))
        stack.callback(starting.cancel)
        device = devices[0].torch_name
        loaded = await executor.run(lambda: load(files.path, name=config.target, dtype=config.dtype, device=device))
        rule = GreedyRule.from_config(loaded.model.generation_config, config.target)
        target = Target(TreeModel(loaded.model), rule)
        prompts, codec = Prompts(loaded.tokenizer, config.target), TokenizerCodec(loaded.tokenizer)
        await starting  # loading must not disturb the measurement
        report("measuring what a round costs by tree size")
        curve = await executor.run(target.calibrate)
        setup = Setup(_info(files, config, devices[0]), sidecar_info, curve)
        yield Engine(Parts(target, executor, prompts, codec, curve, sidecar, setup, config.method, config.finish_waves))


def _resolve(name: str, role: str, report: Report) -> ModelFiles:
    files = resolve(name)
    report(f"{role}: {files.line}")
    return files


def _info(files: ModelFiles, config: EngineConfig, device: Device, adapter: Path | None = None) -> ModelInfo:
    return ModelInfo(
        name=files.name,
        source=files.source,
        weights_sha256=files.weights_sha256,
        dtype=config.dtype,
        device=device.name,
        adapter=str(adapter) if adapter is not None else None,
    )
