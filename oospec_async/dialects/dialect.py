"""How a model family writes a call as text: what stands around the JSON object, its keys, and its spacing."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

from oospec_async.dialects.partial_json import Gaps
from oospec_async.request import Json

ARGUMENT_KEYS = ("arguments", "parameters")


@dataclass(frozen=True)
class Spacing:
    """White space in a JSON text. ``indent`` None means one line."""

    colon: str = " "  # after ":"
    item: str = " "  # after "," on one line
    pad: str = ""  # inside the braces of an object on one line
    indent: int | None = None  # spaces per level
    spread_arrays: bool = False  # with an indent: one array item a line

    def observed(self, gaps: Gaps) -> Spacing:
        """This spacing, corrected by what has been written (see ``scan``)."""
        changed = self
        if (colon := gaps.get(":")) is not None:
            changed = replace(changed, colon=colon)
        if (first := gaps.get("{")) is not None:
            if "\n" in first:
                changed = replace(changed, indent=len(first) - first.rindex("\n") - 1)
            else:
                changed = replace(changed, indent=None, pad=first)
        if (item := gaps.get(",}", gaps.get(",]"))) is not None and "\n" not in item:
            changed = replace(changed, item=item)
        if (array := gaps.get("[")) is not None:
            changed = replace(changed, spread_arrays="\n" in array)
        return changed

    def line(self, depth: int) -> str:
        """A line break and the indentation at ``depth``; empty on one line."""
        return "" if self.indent is None else "\n" + " " * (self.indent * depth)

    def inside(self, is_object: bool, depth: int) -> str:
        """White space after an opening bracket, where the members stand at ``depth``."""
        if self.indent is None:
            return self.pad if is_object else ""
        return self.line(depth) if is_object or self.spread_arrays else ""

    def closing(self, is_object: bool, depth: int) -> str:
        """White space before a closing bracket, where the members stand at ``depth``."""
        if self.indent is None:
            return self.pad if is_object else ""
        return self.line(depth - 1) if is_object or self.spread_arrays else ""

    def between(self, is_object: bool, depth: int) -> str:
        """White space after a comma, where the members stand at ``depth``."""
        if self.indent is None or not (is_object or self.spread_arrays):
            return self.item
        return self.line(depth)


def quote(value: Json) -> str:
    """The JSON text of a scalar or of an empty container, non-ASCII kept."""
    return _ENCODER.encode(value)


_ENCODER = json.JSONEncoder(ensure_ascii=False)  # json.dumps would make one for every call


@dataclass(frozen=True)
class Dialect:
    """Calls as text: ``opener``, JSON objects with ``between`` from each to the next, ``closer``.

    So the brackets of a list, or the tags around a block of calls, belong to ``opener`` and ``closer``; tags around
    every single call belong to all three.
    """

    name: str
    opener: str = ""
    closer: str = ""
    between: str = "\n"
    name_key: str = "name"
    arguments_key: str = "arguments"
    spacing: Spacing = Spacing()


_FENCE = Spacing(indent=2)
_DIALECTS = (
    # Qwen2.5, Qwen3, Hermes
    Dialect("hermes", "<tool_call>\n", "\n</tool_call>", between="\n</tool_call>\n<tool_call>\n"),
    # small and coder models, whatever their template says
    Dialect("fenced", "```json\n", "\n```", between="\n```\n\n```json\n", spacing=_FENCE),
    # Llama 3.1 and later
    Dialect("llama", between="; ", arguments_key="parameters"),
    # the prompts of API-Bank as ToolSpec processed them
    Dialect("api-bank", "```<tool_call>\n", "\n</tool_call>\n```", between="\n", arguments_key="parameters"),
    Dialect("list", "[", "]", between=", "),
)
NAMED: dict[str, Dialect] = {dialect.name: dialect for dialect in _DIALECTS}
