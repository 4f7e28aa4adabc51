"""Open an engine on real models."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from oospec_async.console.event_loop import interruptible
from oospec_async.decoding.drafters import drafters_of
from oospec_async.devices import Device, held_devices
from oospec_async.errors import OospecError
from oospec_async.recording.provenance import Setup
from oospec_async.runtime.config import EngineConfig, Report
from oospec_async.runtime.executor import ThreadExecutor
from oospec_async.runtime.parts import Parts
from oospec_async.sidecar.messages import SidecarConfig
from oospec_async.sidecar.process import SidecarProcess
from oospec_async.sidecar.shipped_adapters import find_adapter
from oospec_async.target.codec import TokenizerCodec
from oospec_async.target.draft_model import DraftModel, check_vocabularies
from oospec_async.target.greedy import GreedyRule
from oospec_async.target.prompts import Prompts
from oospec_async.target.target import Target
from oospec_async.target.tree_model import TreeModel
from oospec_async.trace import ModelInfo
from oospec_async.weights.adapters import describe_adapter
from oospec_async.weights.fetch import ModelFiles, resolve
from oospec_async.weights.load import DTYPES, check_device, load


@contextlib.asynccontextmanager
async def open_parts(config: EngineConfig, report: Report) -> AsyncIterator[Parts]:
    """Resolve and load models, calibrate, start the sidecar; everything is closed at the end, workers included.

    ``report`` is told, a line each, what is being done and which weights were taken. Raises OospecError.
    """
    if sys.platform != "linux":
        raise OospecError(f"platform {sys.platform!r}: devices and the hint channel need Linux")
    if config.dtype not in DTYPES:
        raise OospecError(f"dtype {config.dtype!r}: unknown; use one of {', '.join(DTYPES)}")
    drafters_of(config.method)
    async with contextlib.AsyncExitStack() as stack:
        holding = held_devices(config.devices, report, sidecar=config.sidecar is not None)
        device, sidecar_device = stack.enter_context(holding)
        for each in (device, sidecar_device):
            check_device(each.torch_name)  # before gigabytes are fetched
        sidecar, sidecar_info = None, None
        if config.sidecar is not None:
            with interruptible():
                found = _resolve(config.sidecar, "sidecar", report)
            adapter = find_adapter(config.adapter, found, report)
            sidecar_info = _info(found, config, sidecar_device, adapter)
            worker = SidecarConfig(found.path, config.sidecar, sidecar_device, config.dtype, adapter)
            sidecar = SidecarProcess(worker)
            stack.push_async_callback(sidecar.close)
        with interruptible():
            files = _resolve(config.target, "target", report)
            small_files = None
            if config.draft_model is not None:
                small_files = _resolve(config.draft_model, "draft model", report)
        executor, loading = ThreadExecutor(device), True
        # A load cannot be stopped: whoever gives up meanwhile does not wait for it.
        stack.callback(lambda: executor.close(wait=not loading))
        report("loading the models")
        starting = sidecar.start() if sidecar is not None else asyncio.sleep(0)
        loading_target = executor.run(
            load, files.path, name=config.target, dtype=config.dtype, device=device.torch_name
        )
        loaded, _ = await asyncio.gather(loading_target, starting)
        rule = GreedyRule.from_config(loaded.model.generation_config, config.target)
        target = Target(TreeModel(loaded.model), rule)
        small = None
        if small_files is not None:
            its = (loaded.tokenizer, target.vocabulary)
            small = await executor.run(_small_model, small_files, config, device, *its)
        loading = False
        prompts = await executor.run(Prompts, loaded.tokenizer, config.target)
        codec = TokenizerCodec(loaded.tokenizer)
        report("measuring what a round costs by tree size")  # not before: loading would disturb it
        curve = await executor.run(target.calibrate)
        draft_model, draft_model_info = None, None
        if small_files is not None and small is not None:
            draft_model = await executor.run(DraftModel.calibrated, small, rule, curve, target.vocabulary)
            draft_model_info = _info(small_files, config, device)
            report(draft_model.line)
        yield Parts(
            target=target,
            executor=executor,
            prompts=prompts,
            codec=codec,
            curve=curve,
            sidecar=sidecar,
            draft_model=draft_model,
            setup=Setup(_info(files, config, device), sidecar_info, curve, draft_model_info),
            method=config.method,
            reuse_prefix=config.reuse_prefix,
            record=config.record,
            finish_waves=config.finish_waves,
        )


def _small_model(files: ModelFiles, config: EngineConfig, device: Device, tokenizer: Any, rows: int) -> TreeModel:
    """The draft model's. ``tokenizer``, ``rows``: the target's, its vocabulary. Raises OospecError if they differ."""
    found = load(files.path, name=files.name, dtype=config.dtype, device=device.torch_name)
    model = TreeModel(found.model)
    names = (files.name, config.target)
    check_vocabularies(found.tokenizer, tokenizer, min(model.vocabulary, rows), names)
    return model


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
        adapter=describe_adapter(adapter) if adapter is not None else None,
    )
