"""Tiny models on disk: a target that has learnt a few calls by heart, and a sidecar of random weights."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from oospec_async.request import Message, Request, Tool
from oospec_async.target.prompts import Prompts
from tools.gpu_checks.randoms import random_model, tokenizer

_SIZES = {
    "hidden_size": 48, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "max_position_embeddings": 4096,
}  # fmt: skip
_STEPS = 160
_TOKENS = 96  # of an output at most

TOOLS = (
    Tool(
        name="get_weather",
        parameters={
            "type": "object",
            "properties": {
                "city": {"type": "string"},
                "days": {"type": "integer"},
                "unit": {"enum": ["celsius", "kelvin"]},
            },
            "required": ["city"],
        },
    ),
    Tool(
        name="get_order",
        parameters={
            "type": "object",
            "properties": {"id": {"type": "integer"}, "items": {"type": "array"}},
            "required": ["id"],
        },
    ),
    Tool(name="now"),
)


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


def make(folder: Path) -> Models:
    """Write both models, and let ``generate`` answer every request."""
    letters = tokenizer()
    requests = tuple(
        Request(
            messages=(Message(role="user", content=f"{name}?"),),
            tools=TOOLS,
            id=name,
            max_new_tokens=_TOKENS,
            tools_in_prompt=True,  # short prompts: they are learnt in seconds
        )
        for name in _ANSWERS
    )
    prompts = Prompts(letters, "the soak's target")
    asked = {request.id: prompts.ids(request) for request in requests}
    target = _learnt(letters, asked)
    expected = {name: _generated(target, prompt) for name, prompt in asked.items()}
    for name, model in (("target", target), ("sidecar", _model(letters, seed=1, std=0.3))):
        model.save_pretrained(folder / name)
        letters.save_pretrained(folder / name)
    return Models(folder / "target", folder / "sidecar", requests, expected)


def _model(letters: Any, *, seed: int, std: float) -> Any:
    return random_model("qwen2", "cpu", torch.float32, seed=seed, std=std, vocab_size=len(letters), **_SIZES)


def _learnt(letters: Any, asked: dict[str, list[int]]) -> Any:
    """Trained until it writes calls; whether it writes just these does not matter."""
    end = letters.eos_token_id
    rows = [(prompt, [*letters.encode(_ANSWERS[name]), end]) for name, prompt in asked.items()]
    width = max(len(prompt) + len(answer) for prompt, answer in rows)
    ids, labels = torch.full((len(rows), width), end), torch.full((len(rows), width), -100)
    for row, (prompt, answer) in enumerate(rows):
        ids[row, : len(prompt) + len(answer)] = torch.tensor(prompt + answer)
        labels[row, len(prompt) : len(prompt) + len(answer)] = torch.tensor(answer)
    model = _model(letters, seed=0, std=0.05).train()
    model.generation_config.eos_token_id = [end]
    optimizer = torch.optim.AdamW(model.parameters(), lr=8e-3, weight_decay=0.0)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.05, _STEPS)
    for _ in range(_STEPS):
        model(input_ids=ids, labels=labels).loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        schedule.step()
    return model.eval()


def _generated(model: Any, prompt: list[int]) -> tuple[int, ...]:
    ids = torch.tensor([prompt])
    options = {"do_sample": False, "max_new_tokens": _TOKENS, "pad_token_id": 0}
    out = model.generate(ids, attention_mask=torch.ones_like(ids), **options)
    return tuple(out[0, len(prompt) :].tolist())
