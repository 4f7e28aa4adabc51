"""Hint: the sidecar's values, written in the target's dialect from the committed text on (OoO-Spec).

A value that the target wrote differently is skipped: the hint joins in again at the next key. While the target thinks
or talks the hint waits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from oospec_async.decoding.drafters.base import Drafter
from oospec_async.decoding.drafters.needs import HINTS
from oospec_async.decoding.tree import Candidate
from oospec_async.decoding.view import Draft, View
from oospec_async.dialects.call_site import keys_of
from oospec_async.dialects.dialect import Dialect
from oospec_async.dialects.partial_json import At, Cursor, unquote
from oospec_async.dialects.render import Unknown, continue_object, render_object
from oospec_async.dialects.wrapping import closing_left, opening_left
from oospec_async.hints import CallHint, Hint
from oospec_async.request import Json

_PRIOR, _SURVIVAL = 0.8, 0.98
_OPENERS = (1.0, 0.4)  # share of the prior by rank of the dialect


class HintDrafter(Drafter):
    name = "hint"
    needs = (HINTS,)

    def propose(self, view: View) -> list[Candidate]:
        if view.hint is None or view.site.thinking:
            return []
        return view.candidates(_drafts(view, view.hint), self.name, _SURVIVAL)


def _drafts(view: View, hint: Hint) -> list[Draft]:
    site, dialect = view.site, view.dialects[0]
    calls = hint.calls[len(site.calls) :]
    if site.cursor is not None:
        return [_inside(view, site.cursor, calls, dialect)] if calls else []
    if not calls:
        closer = closing_left(view.text, site, dialect) if site.calls else None
        return [Draft(closer, _PRIOR, final=True)] if closer else []
    drafts = []
    for dialect, share in zip(view.dialects, _OPENERS, strict=False):
        opener = opening_left(view.text, site, dialect)
        if opener is not None:
            text, final = _calls(view, calls, dialect)
            drafts.append(Draft(opener + text, _PRIOR * share, final))
    return drafts


def _inside(view: View, cursor: Cursor, calls: Sequence[CallHint], dialect: Dialect) -> Draft:
    """The rest of the unfinished call, and the calls after it."""
    root = cursor.frames[0]
    name_key, arguments_key = keys_of(root)
    named = root.members.get(name_key) if name_key is not None else None
    if named is not None and unquote(named) != calls[0].function:
        return Draft("", 0.0)
    keys = (name_key or dialect.name_key, arguments_key or dialect.arguments_key)
    dialect = replace(dialect, name_key=keys[0], arguments_key=keys[1])
    expected, prior = _expected(view, calls[0], dialect), _PRIOR
    part = continue_object(view.text, cursor, expected, dialect.spacing)
    in_value = cursor.at in (At.IN_STRING, At.IN_SCALAR) and len(cursor.frames) > 1  # else the arguments are text
    if in_value and root.key == arguments_key:
        arguments, key = expected[keys[1]], cursor.frames[1].key
        if not part.text or isinstance(arguments.get(key, Unknown()), Unknown):  # a value that is not the hint's
            arguments[key] = Unknown()
            part, prior = continue_object(view.text, cursor, expected, dialect.spacing), _ends(cursor.partial)
    if not part.whole:
        return Draft(part.text, prior)
    rest, final = _after(view, calls[1:], replace(dialect, spacing=dialect.spacing.observed(cursor.gaps)))
    return Draft(part.text + rest, prior, final)


def _ends(partial: str) -> float:
    """The chance that a value unlike the hint's ends with the next token: the longer it is, the longer it may go on."""
    return 1 / (3 + len(partial) / 4)


def _calls(view: View, calls: Sequence[CallHint], dialect: Dialect) -> tuple[str, bool]:
    """The objects of ``calls`` and what stands between and after them; whether that is all."""
    part = render_object(_expected(view, calls[0], dialect), dialect.spacing)
    if not part.whole:
        return part.text, False
    rest, final = _after(view, calls[1:], dialect)
    return part.text + rest, final


def _after(view: View, calls: Sequence[CallHint], dialect: Dialect) -> tuple[str, bool]:
    if not calls:
        return dialect.closer, True
    text, final = _calls(view, calls, dialect)
    return dialect.between + text, final


def _expected(view: View, call: CallHint, dialect: Dialect) -> dict[str, Json]:
    """The call as an object in schema order; writing it stops before a required slot that is not ready."""
    tool = next(tool for tool in view.tools if tool.name == call.function)  # hints are checked when they are read
    arguments = {
        slot.name: call.arguments.get(slot.name, Unknown())
        for slot in tool.slots
        if slot.name in call.arguments or (slot.required and slot.name not in call.omitted)
    }
    return {dialect.name_key: call.function, dialect.arguments_key: arguments}
