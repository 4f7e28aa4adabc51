"""Hints as far as a trace knows them: how many bytes, and how many slots."""

from __future__ import annotations

from oospec_async.hints import CallHint, Hint, encode_hint
from oospec_async.request import Tool
from oospec_async.sidecar.channel import MAX_PAYLOAD

_FUNCTION = "f"
_SLOT = len('"0":0,')  # bytes that a slot takes at least


def tool_of(slots: int) -> Tool:
    """A function with so many slots; with fewer, where no payload could tell them all."""
    slots = min(slots, MAX_PAYLOAD // _SLOT)
    return Tool(name=_FUNCTION, parameters={"properties": {str(slot): {} for slot in range(slots)}})


def payload_of(size: int, ready: int) -> bytes:
    """A payload of ``size`` bytes that tells ``ready`` slots of ``tool_of``: fewer, where they would not fit.

    No payload is shorter than one that names the function.
    """
    ready = min(ready, size // _SLOT)
    payload = _told(ready)
    while ready and len(payload) > size:
        ready -= 1
        payload = _told(ready)
    return payload.ljust(size)  # blanks mean nothing to who reads it


def _told(ready: int) -> bytes:
    return encode_hint(Hint((CallHint(_FUNCTION, {str(slot): 0 for slot in range(ready)}),)))
