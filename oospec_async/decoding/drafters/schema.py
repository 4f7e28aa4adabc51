"""Schema: the literal parts of a call, function and key names, and enumerated values (ToolSpec, schema drafting).

Unlike a state machine that advances with what was drafted, the position in the schema is read off the committed text
in every round, so a rejected draft, an unexpected key or a second call cannot derail it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from os.path import commonprefix

from oospec_async.decoding.drafters.base import Drafter
from oospec_async.decoding.tree import Candidate
from oospec_async.decoding.view import Draft, View
from oospec_async.dialects.call_site import keys_of
from oospec_async.dialects.dialect import quote
from oospec_async.dialects.partial_json import At, unquote
from oospec_async.dialects.render import Continuation, Partial, Unknown, continue_object, render_object
from oospec_async.dialects.wrapping import closing_left, opening_left
from oospec_async.request import Json, Parameter, Tool
from oospec_async.schema import kind_of

_LITERAL = 0.9  # chance that the next token of a call is the literal one
_SURVIVAL = 0.97
_OPENERS = (0.6, 0.3, 0.05)  # chance that a call begins here, by rank of the dialect
_OPTIONS = 8  # alternatives drafted at one place
_OPENINGS = {"string": '"', "array": "[", "object": "{"}
_KEY_KNOWN = (At.COLON, At.VALUE, At.IN_STRING, At.IN_SCALAR)
_STRING_ENDS = 0.3  # chance that an unknown string ends with the next token


class Schema(Drafter):
    name = "schema"

    def propose(self, view: View) -> list[Candidate]:
        if view.site.thinking or not view.tools:
            return []
        drafts = _inside(view) if view.site.cursor is not None else _outside(view)
        return view.candidates(drafts, self.name, _SURVIVAL)


def _inside(view: View) -> Iterator[Draft]:
    """Continuations of the unfinished call."""
    cursor, dialect = view.site.cursor, view.dialects[0]
    assert cursor is not None
    root = cursor.frames[0]
    name_key, arguments_key = keys_of(root)
    named = root.members.get(name_key) if name_key is not None else None
    seen: list[str] = []
    if len(cursor.frames) > 1 and root.key == arguments_key:
        arguments = cursor.frames[1]
        writing = len(cursor.frames) > 2 or cursor.at in _KEY_KNOWN
        seen = [*arguments.members, *([arguments.key] if writing and arguments.key not in arguments.members else [])]
    tools = [t for t in view.tools if named is None or t.name == unquote(named)]
    if len(tools) > _OPTIONS:  # fewer need no sieve: of one that does not fit nothing is drafted
        begun = cursor.partial if cursor.at is At.IN_STRING and cursor.frames == [root] and root.key == name_key else ""
        tools = [t for t in tools if quote(t.name).startswith(begun) and all(map(t.slot, seen))]
        if tools and cursor.frames == [root]:
            shared = {name_key or dialect.name_key: _name(tools)}
            yield Draft(continue_object(view.text, cursor, shared, dialect.spacing).text, _LITERAL)
    guessed = cursor.at is At.IN_STRING and named is not None
    certainty = _STRING_ENDS if guessed else _LITERAL
    for tool in tools[:_OPTIONS]:
        for arguments_left, chance in _orders(tool, seen):
            expected = {name_key or dialect.name_key: tool.name, arguments_key or dialect.arguments_key: arguments_left}
            for part in _fork(
                expected, lambda e: continue_object(view.text, cursor, e, dialect.spacing), cursor.partial
            ):
                closer = dialect.closer if part.whole else ""
                yield Draft(part.text + closer, certainty * chance / len(tools), final=part.whole)


def _outside(view: View) -> Iterator[Draft]:
    """The rest of what follows a finished call, and the beginnings of a next one."""
    site = view.site
    if site.calls and (closer := closing_left(view.text, site, view.dialects[0])):
        yield Draft(closer, _LITERAL, final=True)
    for dialect, chance in zip(view.dialects, _OPENERS, strict=False):
        opener = opening_left(view.text, site, dialect)
        if opener is None:
            continue
        if len(view.tools) > _OPTIONS:
            yield Draft(opener + render_object({dialect.name_key: _name(view.tools)}, dialect.spacing).text, chance)
        for tool in view.tools[:_OPTIONS]:
            arguments, _ = next(_orders(tool, []))
            expected = {dialect.name_key: tool.name, dialect.arguments_key: arguments}
            for part in _fork(expected, lambda e, dialect=dialect: render_object(e, dialect.spacing)):  # type: ignore[misc]
                closer = dialect.closer if part.whole else ""
                yield Draft(opener + part.text + closer, chance / len(view.tools), final=part.whole)


def _name(tools: Sequence[Tool]) -> Unknown:
    """The name of one of many functions: none is likely, and what they all begin with is."""
    names = tuple(tool.name for tool in tools)
    return Unknown(commonprefix([*map(quote, names)]), options=names)  # noqa: RUF071  # characters are meant, no paths


def _orders(tool: Tool, seen: list[str]) -> Iterator[tuple[dict[str, Json], float]]:
    """Arguments that may still follow, each with its chance: the next parameter, the next required one, or no more."""
    left = [slot for slot in tool.slots if slot.name not in seen]
    written = {name: _expectation(slot) for name in seen if (slot := tool.slot(name))}
    required = [slot for slot in left if slot.required]
    if left:
        yield Partial(written | {s.name: _expectation(s) for s in left}), 1.0 if left[0].required else 0.5
    if required and not left[0].required:
        yield Partial(written | {s.name: _expectation(s) for s in required}), 0.5
    if not required:
        yield dict(written), 0.5 if left else 1.0


def _expectation(slot: Parameter) -> Json:
    """What the schema says about a value before anything of it is known."""
    return _expect(slot.schema_, slot.name, depth=0)


def _expect(schema: Json, slot: str, depth: int) -> Json:
    kind = kind_of(schema)
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if kind == "object" and isinstance(properties, dict) and properties and depth < 4:
        return Partial({str(key): _expect(inner, str(key), depth + 1) for key, inner in properties.items()})
    enum = schema.get("enum") if isinstance(schema, dict) and kind != "array" else None
    options = tuple(enum) if isinstance(enum, list) else (True, False) if kind == "boolean" else ()
    return Unknown(_OPENINGS.get(kind, ""), slot, options)


def _fork(
    expected: dict[str, Json], write: Callable[[dict[str, Json]], Continuation], written: str = ""
) -> Iterator[Continuation]:
    """Write up to the first value that is not known; where it has few options, write on with each.

    ``written``: of the value, if it is the one that is being written. Of many options it leaves few.
    """
    part = write(expected)
    unknown = part.stopped_at
    if unknown is None or not unknown.options:
        yield part
        return
    begun = "" if part.text else written
    fitting = (option for option in unknown.options if quote(option).startswith(begun))
    for option in islice(fitting, _OPTIONS):
        yield write(_filled(expected, unknown, option))


def _filled(expected: Json, unknown: Unknown, value: Json) -> Json:
    """``expected`` with ``value`` in the place of ``unknown``."""
    if expected is unknown:
        return value
    if isinstance(expected, dict):
        return type(expected)({key: _filled(item, unknown, value) for key, item in expected.items()})
    return expected
