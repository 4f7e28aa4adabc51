"""Drafters by name, and methods as compositions of them."""

from __future__ import annotations

from collections.abc import Sequence

from oospec_async.decoding.drafters.base import Drafter
from oospec_async.decoding.drafters.draft import ModelDrafter
from oospec_async.decoding.drafters.hint import HintDrafter
from oospec_async.decoding.drafters.history import History
from oospec_async.decoding.drafters.lookup import Lookup
from oospec_async.decoding.drafters.needs import Need
from oospec_async.decoding.drafters.recycle import Recycle
from oospec_async.decoding.drafters.schema import Schema
from oospec_async.errors import OospecError

DRAFTERS: dict[str, Drafter] = {
    d.name: d for d in (Schema(), History(), Lookup(), Recycle(), HintDrafter(), ModelDrafter())
}

METHODS: dict[str, tuple[str, ...]] = {
    "ar": (),
    "pld": ("lookup",),
    "draft": ("draft",),
    "toolspec": ("schema", "history", "recycle"),
    "oospec": ("schema", "history", "recycle", "hint"),
}


def needs_of(*methods: str) -> tuple[Need, ...]:
    """What the drafters of these methods need, each once. Raises as ``drafters_of`` does."""
    drafters = (drafter for method in methods for drafter in drafters_of(method))
    return tuple(dict.fromkeys(need for drafter in drafters for need in drafter.needs))


def lacking(method: str, given: object) -> Need | None:
    """What a method needs and ``given`` lacks: an engine's parts, or what names them. None if it can be served."""
    return next((need for need in needs_of(method) if getattr(given, need.part) is None), None)


def drafters_of(method: str) -> Sequence[Drafter]:
    """The drafters of a method, or of a mix such as ``schema+hint``. Raises OospecError for a name that is neither."""
    names = METHODS[method] if method in METHODS else tuple(method.split("+"))
    if len(set(names)) < len(names):
        raise OospecError(f"method {method!r} names a drafter twice")
    mixed = next((name for name in names if name in METHODS and name not in DRAFTERS), None)
    if mixed is not None and method not in METHODS:
        raise OospecError(f"method {method!r}: {mixed} is a mix already; name drafters: {'+'.join(METHODS[mixed])}")
    unknown = next((name for name in names if name not in DRAFTERS), None)
    if unknown is not None:
        raise OospecError(
            f"method {method!r}: {unknown!r} is neither a method ({', '.join(METHODS)}) "
            f"nor a drafter to mix with + ({', '.join(DRAFTERS)})"
        )
    return [DRAFTERS[name] for name in names]
