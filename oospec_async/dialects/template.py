"""Read a dialect off a chat template: render a call made of sentinels and see what stands around them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, Literal

from oospec_async.dialects.dialect import Dialect, Spacing
from oospec_async.dialects.partial_json import Whole, scan
from oospec_async.request import Json

# Renders messages and tools as text; the flag asks for the generation prompt at the end.
Render = Callable[[list[dict[str, Any]], list[dict[str, Any]], bool], str]

_NAME, _KEY, _VALUE, _TEXT = "oospec_probe_function", "oospec_probe_key", "oospec_probe_value", "oospec_probe_text"
_ID = "oospec000"  # Mistral's templates want nine letters and digits
_TOOL = {
    "type": "function",
    "function": {
        "name": _NAME,
        "description": "d",
        "parameters": {"type": "object", "properties": {_KEY: {"type": "string"}, "n": {"type": "integer"}}},
    },
}
Form = Literal["object", "text"]  # of a call's arguments
_FORMS: tuple[Form, ...] = ("object", "text")
_USER = {"role": "user", "content": "u"}
_THINK_BLOCK = re.compile(r"\A\s*<think>.*?</think>\s*", re.DOTALL)


def takes_tools(render: Render) -> bool:
    """Whether the template writes tools into the prompt at all."""
    return _NAME in (_prompt(render) or "")


def form_of_arguments(render: Render) -> Form | None:
    """How the template wants the arguments of earlier calls; None if it does not write such calls at all."""
    for form, turn in zip(_FORMS, _turns_of_calls(1), strict=True):
        if _VALUE in (_tried(render, [_USER, turn], prompt=False) or ""):
            return form
    return None


def takes_results(render: Render) -> bool:
    """Whether the template writes what a call gave."""
    result = {"role": "tool", "tool_call_id": _ID, "name": _NAME, "content": _TEXT}
    turns = ({"role": "assistant", "content": "a"}, *_turns_of_calls(1))
    return any(_TEXT in (_tried(render, [_USER, turn, result], prompt=True) or "") for turn in turns)


def dialect_from_template(render: Render) -> Dialect | None:
    """The dialect in which the template writes calls of earlier turns; None if it writes none as JSON objects."""
    prompt = _prompt(render)
    one = _assistant_turn(render, prompt, 1) if prompt is not None else None
    if prompt is None or one is None:
        return None
    text, end_of_turn = one
    spans = _objects(text)
    if len(spans) != 1:
        return None
    start, found = spans[0]
    members = found.root.members
    name_key = next((key for key, raw in members.items() if raw == f'"{_NAME}"'), None)
    arguments_key = next((key for key, raw in members.items() if _KEY in raw), None)
    if name_key is None or arguments_key is None:
        return None
    opener, closer = text[:start], text[found.end :].removesuffix(end_of_turn)
    two = _assistant_turn(render, prompt, 2)
    pair = _objects(two[0]) if two is not None else []
    between = two[0][pair[0][1].end : pair[1][0]] if two is not None and len(pair) == 2 else f"{closer}\n{opener}"
    spacing = Spacing().observed(found.gaps)
    return Dialect("template", opener, closer, between, name_key, arguments_key, spacing)


def _assistant_turn(render: Render, prompt: str, calls: int) -> tuple[str, str] | None:
    """An assistant's turn with so many calls, and the text that ends any turn."""
    plain = _tried(render, [_USER, {"role": "assistant", "content": _TEXT}], prompt=False)
    if plain is None or _TEXT not in plain:
        return None
    end_of_turn = plain[plain.index(_TEXT) + len(_TEXT) :]
    for turn_of_calls in _turns_of_calls(calls):
        text = _tried(render, [_USER, turn_of_calls], prompt=False)
        if text is not None and text.count(_VALUE) == calls:
            turn = text[len(prompt) :] if text.startswith(prompt) else text[plain.index(_TEXT) :]
            return _THINK_BLOCK.sub("", turn), end_of_turn
    return None


def _turns_of_calls(calls: int) -> Iterator[dict[str, Any]]:
    """One for each of ``_FORMS``."""
    arguments: Json = {_KEY: _VALUE, "n": 7}
    for form in (arguments, json.dumps(arguments)):
        call = {"type": "function", "id": _ID, "function": {"name": _NAME, "arguments": form}}
        yield {"role": "assistant", "content": "", "tool_calls": [call] * calls}


def _prompt(render: Render) -> str | None:
    return _tried(render, [_USER], prompt=True)


def _tried(render: Render, messages: list[dict[str, Any]], *, prompt: bool) -> str | None:
    try:
        return render(messages, [_TOOL], prompt)
    except Exception:  # templates raise whatever they like at messages that they do not know
        return None


def _objects(text: str) -> list[tuple[int, Whole]]:
    found, i = [], 0
    while (i := text.find("{", i)) >= 0:
        whole = scan(text, i)
        if isinstance(whole, Whole) and _NAME in text[i : whole.end]:
            found.append((i, whole))
            i = whole.end
        else:
            i += 1
    return found
