"""A tiny model that has learnt a few answers by heart, so that its greedy output is made of real calls."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from helpers import tiny
from oospec_async.dialects.dialect import NAMED
from oospec_async.hints import CallHint, Hint
from oospec_async.request import Request
from oospec_async.testing.models import teach

PARIS: dict[str, Any] = {
    "name": "get_weather",
    "arguments": {"city": "Paris", "days": 3, "unit": "celsius", "alerts": True},
}
KOELN: dict[str, Any] = {"name": "get_weather", "arguments": {"city": "Köln 🙂", "days": 12}}
ORDER: dict[str, Any] = {
    "name": "get_order",
    "arguments": {"id": 1234, "items": ["a", "b"], "address": {"street": "mkdir {x", "zip": 7}},
}
NOW: dict[str, Any] = {"name": "now", "arguments": {}}


def _hermes(*calls: Any) -> str:
    return "\n".join(f"<tool_call>\n{json.dumps(call, ensure_ascii=False)}\n</tool_call>" for call in calls)


# By question: what the model answers. Names say what is odd about the answer.
ANSWERS = {
    "plain": _hermes(PARIS),
    "unicode": _hermes(KOELN),
    "nested": _hermes(ORDER),
    "empty": _hermes(NOW),
    "two": _hermes(PARIS, KOELN),
    "fenced": f"```json\n{json.dumps(PARIS, indent=2)}\n```",
    "thinks": '<think>\nMaybe <tool_call>{"name": "now"} ?\n</think>\n\n' + _hermes(ORDER),
    "prose": "Braces {like these} first. " + _hermes(KOELN),
    "tight": json.dumps(PARIS, separators=(",", ":")),
}


def question(name: str) -> list[int]:
    return tiny.codec().encode(f"<|im_start|>user\n{name}?<|im_end|>\n<|im_start|>assistant\n")


class Questions:
    """Prompts of an engine that serves the model: a request's message is the name of a question."""

    dialects = tuple(NAMED.values())

    def ids(self, request: Request) -> list[int]:
        return question(request.messages[-1].content)


def call_hint(*calls: dict[str, Any]) -> Hint:
    return Hint(tuple(CallHint(call["name"], call["arguments"]) for call in calls))


def honest(number: int) -> Hint | None:
    """Of a round: the hint that is right for the question ``two``, from the third round on."""
    return call_hint(PARIS, KOELN) if number >= 2 else None


def calling_model(family: str = "qwen2") -> Any:
    """Trained in a second or two, once per session; greedy output equals ``ANSWERS``, its end token aside."""
    return _trained(family)


@cache
def _trained(family: str) -> Any:
    rows = [(question(name), tiny.codec().encode(answer)) for name, answer in ANSWERS.items()]
    return teach(tiny.random_model(family, std=0.05), rows, tiny.token("<|im_end|>"))


def greedy(name: str, family: str = "qwen2") -> list[int]:
    """What ``generate`` answers to a question; the end token ends it."""
    return list(_generated(name, family))


@cache
def _generated(name: str, family: str) -> list[int]:
    return tiny.generate(calling_model(family), question(name), 120)
