"""Requests served one after another by an engine that records, with hints published at chosen rounds."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from helpers import tiny
from helpers.calling import Questions, calling_model
from helpers.stubs import ask
from oospec_async.decoding.forward import TargetForward
from oospec_async.decoding.tree import VerifyCurve
from oospec_async.hints import Hint
from oospec_async.request import Request
from oospec_async.runtime.engine import Engine
from oospec_async.runtime.ports import TargetPort
from oospec_async.testing import ScriptedSidecar, ScriptedTarget, scripted_engine

FREE = VerifyCurve(((1, 1.0), (64, 1.0)))  # every draft pays for itself


@dataclass(frozen=True)
class Case:
    """A request and its answer; ``hints`` are published within the rounds of these numbers (0: the prefill)."""

    name: str
    answer: str = ""
    hints: Mapping[int, Hint] = field(default_factory=dict)
    max_new_tokens: int = 256
    stop: tuple[str, ...] = ()


class Publishing:
    """A target within whose forwards hints are published."""

    def __init__(self, target: TargetPort, sidecar: ScriptedSidecar) -> None:
        self._target, self._sidecar = target, sidecar
        self.context, self.vocabulary, self.end_tokens = target.context, target.vocabulary, target.end_tokens
        self.hints: Mapping[int, Hint] = {}
        self._round = 0

    def prefill(self, prompt: Sequence[int], *, reuse: bool = False) -> TargetForward:
        self._round = 0
        self._publish()
        return self._target.prefill(prompt)

    def verify(self, path: Sequence[int], tokens: Sequence[int], parents: Sequence[int]) -> TargetForward:
        self._round += 1
        self._publish()
        return self._target.verify(path, tokens, parents)

    def _publish(self) -> None:
        if self._round in self.hints and self._sidecar.launched:  # not by methods that take no hints
            self._sidecar.publish(self.hints[self._round])


def serve(cases: Sequence[Case], method: str, curve: VerifyCurve = FREE) -> Engine:
    """By stubs: the target says each case's answer. Returns the engine, whose recorder tells the rest."""
    target = ScriptedTarget({case.name: case.answer for case in cases})
    requests = [ask(case.name, max_new_tokens=case.max_new_tokens, stop=case.stop) for case in cases]
    return _serve(target, cases, requests, method=method, curve=curve)


def serve_calling(cases: Sequence[Case], method: str, curve: VerifyCurve = FREE) -> Engine:
    """By a tiny transformer that answers the questions of ``helpers.calling``: cases are named ``NUMBER:QUESTION``."""
    target = tiny.target_of(calling_model())
    requests = [
        tiny.request(case.name.split(":")[-1], id=case.name, max_new_tokens=case.max_new_tokens) for case in cases
    ]
    return _serve(target, cases, requests, codec=tiny.codec(), prompts=Questions(), method=method, curve=curve)


def _serve(answering: TargetPort, cases: Sequence[Case], requests: Sequence[Request], **more: Any) -> Engine:
    """``more``: of the engine."""
    sidecar = ScriptedSidecar()
    target = Publishing(answering, sidecar)
    engine = scripted_engine(target, sidecar, **more)

    async def serve_all() -> None:
        for case, request in zip(cases, requests, strict=True):
            target.hints = case.hints
            await engine.generate(request)

    asyncio.run(serve_all())
    return engine
