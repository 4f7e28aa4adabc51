"""Stand-ins for models: test a drafter, or what you build on an engine, in milliseconds and without weights.

A drafter is a function of what is committed. Say what that is, and look at what it drafts:

>>> from oospec_async.decoding.drafters.base import Drafter
>>> from oospec_async.decoding.tree import Candidate
>>> from oospec_async.testing import view_after
>>> class Echo(Drafter):
...     name = "echo"
...     def propose(self, view):
...         return [Candidate(tuple(view.output[-4:]), self.name, prior=0.9)]
>>> Echo().propose(view_after("cha ")) == [Candidate(tuple(map(ord, "cha ")), "echo", prior=0.9)]
True

Then let an engine draft with it, for a target whose answer you know. Whatever is drafted, the answer stays the same;
only the rounds become fewer:

>>> import asyncio
>>> from unittest.mock import patch
>>> from oospec_async.decoding.drafters import DRAFTERS
>>> from oospec_async.testing import ScriptedTarget, request, scripted_engine
>>> engine = scripted_engine(ScriptedTarget("cha cha cha cha"))
>>> with patch.dict(DRAFTERS, echo=Echo()):
...     completion = asyncio.run(engine.generate(request(), "echo"))
>>> completion.text, completion.metrics.rounds, completion.metrics.accepted
('cha cha cha cha', 6, 9)

A drafter that reads hints says so. An engine that has no sidecar refuses it, and one that has launches a wave for it:

>>> from oospec_async.decoding.drafters.needs import HINTS
>>> from oospec_async.hints import CallHint, Hint
>>> from oospec_async.testing import ScriptedSidecar
>>> class Named(Drafter):
...     name, needs = "named", (HINTS,)
...     def propose(self, view):
...         calls = view.hint.calls if view.hint is not None else ()
...         return [Candidate(tuple(map(ord, call.function)), self.name, 0.9) for call in calls]
>>> engine = scripted_engine(ScriptedTarget(":now"), ScriptedSidecar(Hint((CallHint("now"),))))
>>> with patch.dict(DRAFTERS, named=Named()):
...     completion = asyncio.run(engine.generate(request(), "named"))
>>> completion.sources
('', 'named', 'named', 'named', '')

``ScriptedSidecar(hint)`` publishes a hint when a request begins, ``ScriptedDraftModel(target)`` goes on as the target
will, and most of the time rightly. ``oospec_async.testing.models`` makes tiny transformers of random weights, and a
tokenizer for them; it alone imports torch.
"""

from __future__ import annotations

from oospec_async.testing.engine import scripted_engine, state_after, view_after
from oospec_async.testing.scripted import (
    END,
    CharCodec,
    MessagePrompts,
    ScriptedDraftModel,
    ScriptedSidecar,
    ScriptedTarget,
)
from oospec_async.testing.tools import TOOLS, request

__all__ = [
    "END",
    "TOOLS",
    "CharCodec",
    "MessagePrompts",
    "ScriptedDraftModel",
    "ScriptedSidecar",
    "ScriptedTarget",
    "request",
    "scripted_engine",
    "state_after",
    "view_after",
]
