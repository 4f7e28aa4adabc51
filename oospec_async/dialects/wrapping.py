"""What stands around the calls of an output: read it off a finished one, write the rest of it in a half-written one."""

from __future__ import annotations

from collections.abc import Sequence

from oospec_async.dialects.call_site import THINK_END, CallSite, locate
from oospec_async.dialects.dialect import Dialect, Spacing

# An opener or closer longer than this is prose around the call, not part of how calls are written.
_LONGEST_LITERAL = 32


def observed_dialect(text: str, known: Sequence[Dialect], *, thinking: bool = False) -> Dialect | None:
    """The dialect that a finished output was written in; None without a call.

    Text around the call that ``known`` dialects explain is theirs; other short text is taken literally.
    """
    site = locate(text, thinking=thinking)
    if not site.calls:
        return None
    first, last = site.calls[0], site.calls[-1]
    think_end = text.rfind(THINK_END, 0, first.start)
    before = text[think_end + len(THINK_END) if think_end >= 0 else 0 : first.start].lstrip("\n")
    after = text[last.end :]
    fitting = [d for d in known if d.opener and before.endswith(d.opener) and after.startswith(d.closer)]
    base = max(fitting, key=lambda d: len(d.opener) + len(d.closer), default=None)
    if base is not None:
        opener, closer, between = base.opener, base.closer, base.between
    else:
        opener, closer = (part if len(part) <= _LONGEST_LITERAL else "" for part in (before, after))
        between = f"{closer}\n{opener}"
    if len(site.calls) > 1:
        between = text[first.end : site.calls[1].start]
    spacing = Spacing().observed(first.gaps)
    written = (call.arguments_key for call in site.calls if call.arguments_key)
    arguments_key = next(written, base.arguments_key if base is not None else Dialect.arguments_key)
    return Dialect("observed", opener, closer, between, first.name_key, arguments_key, spacing)


def opening_left(text: str, site: CallSite, dialect: Dialect) -> str | None:
    """What is still to be written before the brace of a next call; None where no call begins in this dialect.

    A first call begins an output (or follows its think block), or has visibly begun within prose; a further one
    follows the text that stands between calls.
    """
    tail = text[site.start :]
    if site.calls:
        return dialect.between[len(tail) :] if dialect.between.startswith(tail) else None
    written = tail.lstrip("\n")
    if dialect.opener.startswith(written):
        return dialect.opener[len(written) :]
    for length in range(min(len(dialect.opener), len(written)), 2, -1):
        if written.endswith(dialect.opener[:length]):
            return dialect.opener[length:]
    return None


def closing_left(text: str, site: CallSite, dialect: Dialect) -> str | None:
    """What is still to be written after the last finished call; None where the text went elsewhere."""
    tail = text[site.after :]
    return dialect.closer[len(tail) :] if dialect.closer.startswith(tail) else None


def dialects_at(text: str, site: CallSite, dialects: Sequence[Dialect]) -> list[Dialect]:
    """``dialects`` in their order, those first that explain the text before the call being written."""
    if site.cursor is None and not site.calls:
        return list(dialects)
    start = site.calls[0].start if site.calls else site.start
    before = text[:start]
    return sorted(dialects, key=lambda d: -len(d.opener) if before.endswith(d.opener) else 1)
