"""An engine over stand-ins, and what a drafter gets to see."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from oospec_async.decoding.memory import Recollection
from oospec_async.decoding.state import DecodeState, Setting
from oospec_async.decoding.text import Codec
from oospec_async.decoding.tree import DraftTree, VerifyCurve
from oospec_async.decoding.verify import Limits
from oospec_async.decoding.view import View
from oospec_async.dialects.dialect import NAMED, Dialect
from oospec_async.hints import Hint
from oospec_async.request import Tool
from oospec_async.runtime.engine import Engine
from oospec_async.runtime.executor import InlineExecutor
from oospec_async.runtime.parts import Parts
from oospec_async.runtime.ports import SidecarPort, TargetPort
from oospec_async.testing.scripted import CharCodec, MessagePrompts
from oospec_async.testing.tools import TOOLS


def scripted_engine(
    target: TargetPort, sidecar: SidecarPort | None = None, *, codec: Codec | None = None, **more: Any
) -> Engine:
    """An engine that records, and whose prompts are the last messages. ``more``: further fields of ``Parts``."""
    codec = codec or CharCodec()
    parts: dict[str, Any] = {
        "executor": InlineExecutor(),
        "prompts": MessagePrompts(codec),
        "curve": VerifyCurve(),
        "record": True,
    }
    return Engine(Parts(target=target, sidecar=sidecar, codec=codec, **(parts | more)))


def state_after(output: Sequence[int], setting: Setting) -> DecodeState:
    """A request of which ``output`` is committed, a token in a round."""
    state = DecodeState(setting)
    for token in output:
        root = state.output[-1] if state.output else setting.prompt[-1]
        state.commit(DraftTree([root]), [token], [[token]])
    return state


def view_after(
    output: str | Sequence[int],
    *,
    hint: Hint | None = None,
    tools: Sequence[Tool] = TOOLS,
    prompt: str | Sequence[int] = "?",
    codec: Codec | None = None,
    dialects: Sequence[Dialect] = tuple(NAMED.values()),
    memory: Recollection | None = None,
) -> View:
    """What a drafter sees where ``output`` is committed. It and ``prompt`` may be text or tokens."""
    codec = codec or CharCodec()
    setting = Setting(
        prompt=codec.encode(prompt) if isinstance(prompt, str) else prompt,
        tools=tools,
        limits=Limits(1 << 30),
        codec=codec,
        dialects=dialects,
        drafters=(),
        memory=memory or Recollection(),
        curve=VerifyCurve(),
        vocabulary=1 << 30,
    )
    return state_after(codec.encode(output) if isinstance(output, str) else output, setting).view(hint)
