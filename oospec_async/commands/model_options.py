"""Options that name models and devices, each declared once."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

from oospec_async.runtime.config import EngineConfig
from oospec_async.weights import DEFAULT_SIDECAR, DEFAULT_TARGET
from oospec_async.weights.adapters import SHIPPED

_MODEL = "Directory or Hugging Face id."
ONE_DEVICE = "cuda:N, cpu, or cpu:N (one pinned core)"

target = click.option("--target", default=DEFAULT_TARGET, show_default=True, help=_MODEL)
sidecar = click.option("--sidecar", default=DEFAULT_SIDECAR, show_default=True, help=_MODEL)
adapter = click.option(
    "--adapter",
    default=SHIPPED,
    show_default=True,
    help="The sidecar's LoRA adapter: a directory (peft format) or none.",
)
draft_model = click.option(
    "--draft-model",
    help="A smaller model with the target's tokenizer, on its device, for methods with draft: directory or id.",
)
devices = click.option("--devices", help=f"TARGET,SIDECAR: {ONE_DEVICE}. Default: what is there.")
device = click.option("--device", default="cpu", show_default=True, help=f"{ONE_DEVICE}.")
dtype = click.option(
    "--dtype", type=click.Choice(["bfloat16", "float32", "float16"]), default="bfloat16", show_default=True
)

_ENGINE = {
    "target": target,
    "sidecar": sidecar,
    "draft_model": draft_model,
    "adapter": adapter,
    "devices": devices,
    "dtype": dtype,
}


def engine_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """What an engine is opened with: the command gets an ``EngineConfig`` as ``config``.

    A new one is an entry above and a field of that name in ``EngineConfig``.
    """

    @functools.wraps(command)
    def configured(**values: Any) -> Any:
        given = {name: values.pop(name) for name in _ENGINE}
        return command(config=EngineConfig(**given), **values)

    for option in reversed(_ENGINE.values()):
        option(configured)
    return configured
