"""Tiny models on disk: a target that has learnt a few calls by heart, and a sidecar of random weights."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oospec_async.request import Request
from oospec_async.target.prompts import Prompts
from oospec_async.testing import request
from oospec_async.testing.models import END, generate, random_model, teach, tokenizer

_TOKENS = 96  # of an output at most
_CONTEXT = 4096


def _call(name: str, **arguments: Any) -> str:
    return f"<tool_call>\n{json.dumps({'name': name, 'arguments': arguments}, ensure_ascii=False)}\n</tool_call>"


_ANSWERS = {
    "Paris": _call("get_weather", city="Paris", days=3),
    "Köln": _call("get_weather", city="Köln 🙂", unit="kelvin"),
    "order": _call("get_order", id=1234, items=["a", "b"]),
    "time": _call("now"),
    "both": _call("now") + "\n" + _call("get_order", id=7),
    "fenced": "```json\n" + json.dumps({"name": "now", "arguments": {}}) + "\n```",
    "none": "There is no tool for this.",
}


@dataclass(frozen=True)
class Models:
    target: Path
    sidecar: Path
    requests: tuple[Request, ...]
    expected: dict[str, tuple[int, ...]]  # by request: what ``transformers`` makes of it, its end token included


def make(folder: Path, device: str = "cpu") -> Models:
    """Write both models, and let ``generate`` answer every request on a device.

    The target is trained until it writes calls; whether it writes just those above does not matter.
    """
    letters = tokenizer()
    # Tools in the prompt make prompts that are short, and so learnt in seconds.
    requests = tuple(request(f"{name}?", id=name, max_new_tokens=_TOKENS, tools_in_prompt=True) for name in _ANSWERS)
    prompts = Prompts(letters, "the tiny target")
    asked = {each.id: prompts.ids(each) for each in requests}
    answers = [(prompt, letters.encode(_ANSWERS[name])) for name, prompt in asked.items()]
    target = random_model("qwen2", std=0.05, context=_CONTEXT)
    target = teach(target, answers, letters.convert_tokens_to_ids(END), steps=160)
    sidecar = random_model("qwen2", seed=1, std=0.3, context=_CONTEXT)
    for name, model in (("target", target), ("sidecar", sidecar)):
        model.save_pretrained(folder / name)
        letters.save_pretrained(folder / name)
    target = target.to(device)
    expected = {name: tuple(generate(target, prompt, _TOKENS)) for name, prompt in asked.items()}
    return Models(folder / "target", folder / "sidecar", requests, expected)
