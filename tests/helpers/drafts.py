"""What a drafter says after a text, as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from helpers import tiny
from oospec_async.decoding.drafters import DRAFTERS
from oospec_async.decoding.memory import Recollection
from oospec_async.decoding.tree import Candidate
from oospec_async.dialects.dialect import NAMED, Dialect
from oospec_async.hints import CallHint, Hint
from oospec_async.request import Tool
from oospec_async.testing import view_after


def hint(*calls: tuple[str, dict[str, Any]], omitted: Sequence[str] = ()) -> Hint:
    return Hint(tuple(CallHint(name, arguments, frozenset(omitted)) for name, arguments in calls))


def candidates(
    drafter: str,
    after: str | Sequence[int],
    *,
    hint: Hint | None = None,
    tools: Sequence[Tool] = tiny.TOOLS,
    dialects: Sequence[Dialect] = tuple(NAMED.values()),
    memory: Recollection | None = None,
    prompt: str | Sequence[int] = "<|im_start|>assistant\n",
) -> list[Candidate]:
    view = view_after(
        after, hint=hint, tools=tools, prompt=prompt, codec=tiny.codec(), dialects=dialects, memory=memory
    )
    return DRAFTERS[drafter].propose(view)


def texts(drafter: str, after: str | Sequence[int], **more: Any) -> list[str]:
    """The candidates as text, most likely first."""
    ranked = sorted(candidates(drafter, after, **more), key=lambda candidate: -candidate.prior)
    return [tiny.codec().decode(candidate.tokens) for candidate in ranked]
