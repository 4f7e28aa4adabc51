"""``transformers``' own ``generate``: greedy, with its prompt lookup, and with an assistant model."""

from __future__ import annotations

import copy
import time
from collections.abc import Sequence
from typing import Any

from oospec_async.decoding.drafters.needs import Need
from oospec_async.errors import OospecError
from oospec_async.request import Request
from oospec_async.runtime.failure import GuardedExecutor
from oospec_async.runtime.parts import Parts
from tools.benchmark.methods.base import Entry, Server
from tools.benchmark.options import Options
from tools.benchmark.rows import Measured

ASSISTANT = Need(
    part="assistant",
    unmet_engine="",
    unmet_command="drafts with a model; name one with --assistant",
)
_LOOKUP_TOKENS = 10  # what transformers' documentation shows for prompt lookup


class _Commits:
    """A streamer for ``generate``: when each forward's tokens came, and how many. First it is told the prompt."""

    def __init__(self) -> None:
        self.times: list[float] = []
        self.tokens: list[int] = []
        self._prompt_seen = False

    def put(self, value: Any) -> None:
        if self._prompt_seen:
            self.times.append(time.perf_counter())
            self.tokens.append(value.numel())
        self._prompt_seen = True

    def end(self) -> None:
        return


class GenerateServer:
    """``generate(do_sample=False)`` on the target's own weights, executor and device."""

    def __init__(self, parts: Parts, assistant: Any = None, **options: Any) -> None:
        """``options`` are given to ``generate``; ``assistant`` is the model among them, if there is one."""
        import transformers

        transformers.utils.logging.set_verbosity_error()
        self._parts = parts
        self._model = _causal_lm(parts)
        self._options = options | ({"assistant_model": assistant} if assistant is not None else {})
        self._assistant = assistant
        # transformers adapts the number of drafted tokens from request to request, in here.
        self._cold = copy.deepcopy(assistant.generation_config) if assistant is not None else None

    def forget(self) -> None:
        if self._assistant is not None:
            self._assistant.generation_config = copy.deepcopy(self._cold)

    async def serve(self, request: Request, known: Sequence[int]) -> Measured:
        if request.stop:
            raise OospecError(f"request {request.id!r}: stop strings are not given to generate; remove 'stop'")
        return await GuardedExecutor(self._parts.executor, request.id).run(self._measure, request)

    def _measure(self, request: Request) -> Measured:
        import torch

        start = time.perf_counter()
        prompt, commits = self._parts.prompts.ids(request), _Commits()
        room = self._parts.target.context - len(prompt)
        if room <= 0:
            raise OospecError(f"request {request.id!r}: its prompt of {len(prompt)} tokens fills the target's context")
        ids = torch.tensor([prompt], device=self._model.device)
        called = time.perf_counter()
        output = self._model.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            do_sample=False,
            max_new_tokens=min(request.max_new_tokens, room),
            streamer=commits,
            **self._options,
        )
        tokens = output[0, len(prompt) :].tolist()
        end = time.perf_counter()
        first, given = commits.times[0], commits.tokens[0]
        accepted = sum(count - 1 for count in commits.tokens[1:])
        return Measured(
            tokens=tokens,
            total_seconds=end - start,
            first_token_seconds=first - start,
            prefill_seconds=first - called,
            decode_seconds=end - first,
            rounds=len(commits.times) - 1,
            first_tokens=min(given, len(tokens)),
            accepted=accepted,
        )


def _causal_lm(parts: Parts) -> Any:
    """The model that the target wraps."""
    return parts.target.model.model  # type: ignore[attr-defined]


def _plain(parts: Parts, options: Options) -> Server:
    return GenerateServer(parts)


def _lookup(parts: Parts, options: Options) -> Server:
    return GenerateServer(parts, prompt_lookup_num_tokens=_LOOKUP_TOKENS)


def _assisted(parts: Parts, options: Options) -> Server:
    from oospec_async.weights.fetch import resolve
    from oospec_async.weights.load import load, load_tokenizer

    name = options.assistant
    assert name is not None  # its entry asks for one
    target = _causal_lm(parts)
    loaded = load(resolve(name).path, name=name, dtype=options.dtype, device=str(target.device))
    ours = load_tokenizer(resolve(options.target).path, options.target)
    if target.config.get_text_config().vocab_size != loaded.model.config.get_text_config().vocab_size:
        # The form that transformers asks for where rows of the vocabularies differ: drafts go through text.
        return GenerateServer(parts, loaded.model, tokenizer=ours, assistant_tokenizer=loaded.tokenizer)
    if ours.get_vocab() != loaded.tokenizer.get_vocab():
        raise OospecError(
            f"assistant {name}: its tokenizer is another one with a vocabulary of the same size, which transformers "
            f"would take for the target's; leave generate+assistant out of --methods"
        )
    return GenerateServer(parts, loaded.model)


PLAIN = Entry(_plain, about="transformers' greedy generate")
LOOKUP = Entry(_lookup, about=f"generate with prompt_lookup_num_tokens={_LOOKUP_TOKENS}")
ASSISTED = Entry(_assisted, about="generate with the model of --assistant", needs=(ASSISTANT,))
