"""A causal LM that writes what a user would say: sampled, many messages at a time, the examples' KV computed once."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import torch
import transformers

from oospec_async.target.cache import cache_argument
from oospec_async.target.codec import TokenizerCodec
from oospec_async.target.greedy import end_tokens
from oospec_async.training.data.writing.tasks import Message

_LONGEST = 64  # tokens of a message
SAMPLING: Mapping[str, Any] = {"do_sample": True, "temperature": 0.7, "top_p": 0.9, "top_k": 20}
_EXAMPLES = [
    {
        "role": "system",
        "content": "You write what a user says to an assistant: "
        "one message, natural and short, with every given value.",
    },
    {"role": "user", "content": 'Book a table at a restaurant\nname = "Luigi\'s"\npeople = 4\ntime = "7 pm"'},
    {"role": "assistant", "content": "Could you get us a table for 4 at Luigi's, 7 pm?"},
    {"role": "user", "content": "Compute the area of a circle, twice\nradius = 2.5\nand\nradius = 7"},
    {
        "role": "assistant",
        "content": "What are the areas of two circles, one with a radius of 2.5 and one with a radius of 7?",
    },
    {"role": "user", "content": 'Find songs\nartist = "Nina Simone"\nexplicit = false\nlimit = 3'},
    {"role": "assistant", "content": "Find me 3 songs by Nina Simone, nothing explicit please."},
]


class Writer:
    """Writes one message for each task, in the model's own chat format."""

    def __init__(self, model: Any, tokenizer: Any, name: str, sampling: Mapping[str, Any] = SAMPLING) -> None:
        """``sampling``: settings of ``transformers``' generation. Raises OospecError for end tokens that are no ids."""
        self._sampling = sampling
        self._model, self._tokenizer = model, tokenizer
        self._codec = TokenizerCodec(tokenizer)
        self._ends = sorted(end_tokens(model.generation_config, name)) or [tokenizer.eos_token_id]
        probes = [self.prompt(text) for text in ("a", "b")]
        shared = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(*probes, strict=False)))
        self._shared = probes[0][:shared]  # the same for every task
        self._cache = transformers.DynamicCache(config=model.config)
        with torch.inference_mode():
            ids = torch.tensor([self._shared], device=model.device)
            model(ids, use_cache=True, **{cache_argument(model): self._cache})

    def write(self, tasks: Sequence[str], seed: int) -> list[Message]:
        """The same tasks and seed give the same messages on the same machine."""
        own = [prompt[len(self._shared) :] for prompt in (self.prompt(task) for task in tasks)]
        widest = max(map(len, own))
        pad = self._ends[0]
        rows = [[*self._shared, *[pad] * (widest - len(ids)), *ids] for ids in own]
        masks = [[1] * len(self._shared) + [0] * (widest - len(ids)) + [1] * len(ids) for ids in own]
        device = self._model.device
        cache = copy.deepcopy(self._cache)
        cache.batch_repeat_interleave(len(tasks))
        settings = transformers.GenerationConfig(
            max_new_tokens=_LONGEST,
            eos_token_id=self._ends,
            pad_token_id=pad,
            repetition_penalty=1.0,  # else the checkpoint's own: values must be repeated
            **self._sampling,
        )
        with torch.inference_mode(), torch.random.fork_rng():
            torch.manual_seed(seed)
            output = self._model.generate(
                torch.tensor(rows, device=device),
                attention_mask=torch.tensor(masks, device=device),
                generation_config=settings,
                **{cache_argument(self._model): cache},
            )
        return [self._message(ids[len(rows[0]) :]) for ids in output.tolist()]

    def prompt(self, task: str) -> list[int]:
        """The ids of a task's whole prompt."""
        messages = [*_EXAMPLES, {"role": "user", "content": task}]
        text = self._tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        return self._codec.encode(text)

    def _message(self, ids: Sequence[int]) -> Message:
        body = list(itertools.takewhile(lambda token: token not in self._ends, ids))
        text = self._tokenizer.decode(body, skip_special_tokens=True).strip()
        return Message(text, len(body) < len(ids))
