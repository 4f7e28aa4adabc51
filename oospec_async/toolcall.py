"""Calls as values: what a finished output asks for."""

from __future__ import annotations

from dataclasses import dataclass

from oospec_async.dialects.call_site import locate
from oospec_async.request import Json


@dataclass(frozen=True)
class ToolCall:
    name: str
    arguments: dict[str, Json]


def parse_calls(text: str, *, thinking: bool = False) -> list[ToolCall]:
    """The calls in a finished output, in order, in whatever dialect; what a think block holds is no call.

    ``thinking``: the prompt has opened a think block.
    """
    return [ToolCall(call.name, call.arguments) for call in locate(text, thinking=thinking).calls]
