"""Methods of the benchmark by name. One that is not here is a method of the engine, or a mix of its drafters."""

from __future__ import annotations

from oospec_async.errors import OospecError
from tools.benchmark.methods import bounds, engine, generate
from tools.benchmark.methods.base import Entry

METHODS: dict[str, Entry] = {
    "generate": generate.PLAIN,
    "generate+lookup": generate.LOOKUP,
    "generate+assistant": generate.ASSISTED,
    "oospec@perfect": bounds.PERFECT,
    "oospec@never": bounds.NEVER,
}


def find(name: str) -> Entry:
    """Raises OospecError for a name that is none."""
    if name in METHODS:
        return METHODS[name]
    try:
        return engine.entry(name)
    except OospecError as error:
        raise OospecError(f"{error}; the benchmark's own methods are {', '.join(METHODS)}") from None
