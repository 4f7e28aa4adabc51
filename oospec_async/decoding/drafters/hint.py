"""Hint: the sidecar's values, written in the target's dialect from the committed text on (OoO-Spec).

A value that the target wrote differently is skipped: the hint joins in again at the next key. While the target thinks
or talks the hint waits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from oospec_async.decoding.tree import Candidate
from oospec_async.decoding.view import View
from oospec_async.dialects.around import closing_left, opening_left
from oospec_async.dialects.dialect import Dialect
from oospec_async.dialects.render import Unknown, continue_object, render_object
from oospec_async.dialects.scan import Cursor, unquote
from oospec_async.dialects.site import keys_of
from oospec_async.hints import CallHint
from oospec_async.request import Json

_PRIOR, _SURVIVAL = 0.8, 0.98
_OPENERS = (1.0, 0.4)  # share of the prior by rank of the dialect


class HintDrafter:
    name = "hint"

    def propose(self, view: View) -> list[Candidate]:
        if view.hint is None or view.site.thinking:
            return []
        return [
            c for text, prior in _drafts(view) if text for c in view.continuation(text, self.name, prior, _SURVIVAL)
        ]


def _drafts(view: View) -> list[tuple[str, float]]:
    site, dialect = view.site, view.dialects[0]
    calls = view.hint.calls[len(site.calls) :] if view.hint is not None else ()
    if site.cursor is not None:
        return [(_inside(view, site.cursor, calls, dialect), _PRIOR)] if calls else []
    if not calls:
        closer = closing_left(view.text, site, dialect) if site.calls else None
        return [(closer, _PRIOR)] if closer else []
    openers = [(opening_left(view.text, site, d), d, share) for d, share in zip(view.dialects, _OPENERS, strict=False)]
    return [(opener + _calls(view, calls, d), _PRIOR * share) for opener, d, share in openers if opener is not None]


def _inside(view: View, cursor: Cursor, calls: Sequence[CallHint], dialect: Dialect) -> str:
    """The rest of the unfinished call, and the calls after it."""
    root = cursor.frames[0]
    name_key, arguments_key = keys_of(root)
    named = root.members.get(name_key) if name_key is not None else None
    if named is not None and unquote(named) != calls[0].function:
        return ""
    written = replace(
        dialect, name_key=name_key or dialect.name_key, arguments_key=arguments_key or dialect.arguments_key
    )
    part = continue_object(view.text, cursor, _expected(view, calls[0], written), dialect.spacing)
    written = replace(written, spacing=dialect.spacing.observed(cursor.gaps))
    return part.text + (_after(view, calls[1:], written) if part.whole else "")


def _calls(view: View, calls: Sequence[CallHint], dialect: Dialect) -> str:
    part = render_object(_expected(view, calls[0], dialect), dialect.spacing)
    return part.text + (_after(view, calls[1:], dialect) if part.whole else "")


def _after(view: View, calls: Sequence[CallHint], dialect: Dialect) -> str:
    return dialect.between + _calls(view, calls, dialect) if calls else dialect.closer


def _expected(view: View, call: CallHint, dialect: Dialect) -> dict[str, Json]:
    """The call as an object in schema order; writing it stops before a required slot that is not ready."""
    tool = next(tool for tool in view.tools if tool.name == call.function)  # hints are checked when they are read
    arguments = {
        slot.name: call.arguments.get(slot.name, Unknown())
        for slot in tool.slots
        if slot.name in call.arguments or (slot.required and slot.name not in call.omitted)
    }
    return {dialect.name_key: call.function, dialect.arguments_key: arguments}
