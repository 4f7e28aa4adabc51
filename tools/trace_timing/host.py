"""The host beside both devices: the real engine, drafters, channel and sidecar process over a scripted output.

The target's forwards are real ones of the measured model; only the tokens that it answers are a script, so that the
drafters have calls to work on.
"""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch

from oospec_async.decoding.forward import Step
from oospec_async.decoding.tree import VerifyCurve
from oospec_async.devices import Device
from oospec_async.recording.assemble import make_trace
from oospec_async.recording.provenance import Setup
from oospec_async.request import Request
from oospec_async.runtime.engine import Engine
from oospec_async.runtime.executor import ThreadExecutor
from oospec_async.runtime.parts import Parts
from oospec_async.sidecar.messages import SidecarConfig
from oospec_async.sidecar.process import SidecarProcess
from oospec_async.target.codec import TokenizerCodec
from oospec_async.target.prompts import Prompts
from oospec_async.target.target import Target
from oospec_async.trace import ModelInfo, Trace
from tools.gpu_checks.randoms import random_model, request, tokenizer

_CITIES = ("Paris", "Köln", "São Paulo", "New Delhi", "Reykjavík", "Quito", "Nairobi", "Ulaanbaatar")
_TOKENS = 400


class ScriptedTarget:
    """A target that takes the time of its model and answers a script, whatever is drafted."""

    def __init__(self, target: Target, end: int) -> None:
        self.context, self.vocabulary, self.end_tokens = target.context, target.vocabulary, frozenset({end})
        self.script: Sequence[int] = ()
        self._target = target
        self._committed: list[int] = []
        self._tree: Sequence[int] = ()

    def prefill(self, prompt: Sequence[int], *, reuse: bool = False) -> Step:
        self._committed, self._tree = [], prompt[-1:]
        return self._answered(self._target.prefill(prompt), [[]])

    def verify(self, path: Sequence[int], tokens: Sequence[int], parents: Sequence[int]) -> Step:
        self._committed += [self._tree[node] for node in path[1:]] + [tokens[0]]
        self._tree = tokens
        paths: list[list[int]] = [[]]
        for token, parent in zip(tokens[1:], parents[1:], strict=True):
            paths.append([*paths[parent], token])
        return self._answered(self._target.verify(path, tokens, parents), paths)

    def _answered(self, step: Step, paths: Sequence[Sequence[int]]) -> Step:
        predicted = []
        for path, own in zip(paths, step.predicted, strict=True):
            said = [*self._committed, *path]
            right = said == list(self.script[: len(said)]) and len(said) < len(self.script)
            predicted.append(self.script[len(said)] if right else own)
        successors = [[token, *list(own)[:-1]] for token, own in zip(predicted, step.successors, strict=True)]
        return replace(step, predicted=predicted, successors=successors)


def _script(number: int) -> str:
    city = _CITIES[number % len(_CITIES)]
    arguments = {"city": city, "days": number + 1, "unit": "celsius", "alerts": number % 2 == 0}
    call = {"name": "get_weather", "arguments": arguments}
    return f"<tool_call>\n{json.dumps(call, ensure_ascii=False)}\n</tool_call>"


async def host_trace(
    target: Target, executor: ThreadExecutor, sidecar_device: Device, curve: VerifyCurve, requests: int
) -> Trace:
    """The trace of ``requests`` scripted ones: its host and link samples and its offsets are what was measured."""
    letters = tokenizer(target.vocabulary)
    codec = TokenizerCodec(letters)
    scripted = ScriptedTarget(target, letters.convert_tokens_to_ids("<|im_end|>"))
    async with contextlib.AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        _save_sidecar(folder)
        sidecar = SidecarProcess(SidecarConfig(folder, "the random sidecar", sidecar_device, "float32"))
        stack.push_async_callback(sidecar.close)
        await sidecar.start()
        parts = Parts(
            scripted, executor, Prompts(letters, "the scripted target"), codec, curve, sidecar,
            record=True, finish_waves=True,
        )  # fmt: skip
        engine, asked, done = Engine(parts), list[Request](), []
        for number in range(requests):
            scripted.script = [*codec.encode(_script(number)), *scripted.end_tokens]
            asked.append(request(_TOKENS).model_copy(update={"id": f"scripted {number}"}))
            done.append(await engine.generate(asked[-1]))
    info = ModelInfo(name="scripted", source="", weights_sha256="", dtype="", device="")
    return make_trace(Setup(info, info, curve), engine.recorder, asked, done)


def _save_sidecar(folder: Path) -> None:
    """A small one: what is wanted of it is when it begins and that it publishes."""
    letters = tokenizer()
    model = random_model(
        "llama",
        "cpu",
        torch.float32,
        std=0.3,
        vocab_size=len(letters),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=4096,
    )
    model.save_pretrained(folder)
    letters.save_pretrained(folder)
