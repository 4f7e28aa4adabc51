"""Tiny models of random weights, and a tiny tokenizer: made in milliseconds, and the same in every run."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import torch
import transformers
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

from oospec_async.decoding.draft_chain import ChainCosts
from oospec_async.decoding.tree import VerifyCurve
from oospec_async.target.codec import TokenizerCodec
from oospec_async.target.draft_model import DraftModel
from oospec_async.target.greedy import GreedyRule
from oospec_async.target.target import Target
from oospec_async.target.tree_model import TreeModel
from oospec_async.testing.tools import TOOLS

CONTEXT = 512
PADDING = 29  # rows of the models' vocabulary that the tokenizer does not know
END = "<|im_end|>"

# How Qwen's and Hermes' templates write tools and calls, in short.
TEMPLATE = """\
{%- if tools %}{{ '<|im_start|>system\\n<tools>' }}
{%- for tool in tools %}{{ '\\n' }}{{ tool | tojson }}{% endfor %}{{ '\\n</tools><|im_end|>\\n' }}{% endif %}
{%- for message in messages %}{{ '<|im_start|>' + message.role + '\\n' }}
{%- if message.content %}{{ message.content }}{% endif %}
{%- for call in message.tool_calls or [] %}{% if not loop.first or message.content %}{{ '\\n' }}{% endif %}
{{- '<tool_call>\\n{"name": "' + call.function.name + '", "arguments": ' }}
{{- call.function.arguments | tojson }}{{ '}\\n</tool_call>' }}{% endfor %}{{ '<|im_end|>\\n' }}{% endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"""


def _corpus() -> list[str]:
    calls = [json.dumps({"name": tool.name, "arguments": {"city": "Köln", "days": 3}}) for tool in TOOLS]
    schemas = [json.dumps(tool.as_openai(), ensure_ascii=False) for tool in TOOLS]
    prose = ["What is the weather in Paris for the next days?", "Where is my order? Its id is 1234.", "  \n\n  {\n    "]
    prose += [" true false null"] * 20
    return [f"<tool_call>\n{call}\n</tool_call>" for call in calls] + schemas + prose


@cache
def tokenizer(size: int = 0) -> Any:
    """A byte-level BPE of some 450 tokens; the tags of calls are tokens of their own, as Qwen's are.

    Further ids below ``size`` have texts too: they can be read, and are never written.
    """
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=440,
        special_tokens=["<|endoftext|>", "<|im_start|>", END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    bpe.train_from_iterator(_corpus(), trainer)
    tags = ("<tool_call>", "</tool_call>", "<think>", "</think>")
    bpe.add_tokens([AddedToken(tag, special=False, normalized=False) for tag in tags])
    if (known := bpe.get_vocab_size()) < size:
        state = json.loads(bpe.to_str())
        state["model"]["vocab"] |= {f"Ġw{number}": number for number in range(known, size)}
        bpe = Tokenizer.from_str(json.dumps(state))
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=bpe, eos_token=END, pad_token="<|endoftext|>", chat_template=TEMPLATE
    )


@cache
def codec() -> TokenizerCodec:
    return TokenizerCodec(tokenizer())


_SIZES: dict[str, Any] = {
    "hidden_size": 48,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "bos_token_id": None,
    "eos_token_id": None,
    "pad_token_id": None,
}
_CLASSES: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "llama": (transformers.LlamaConfig, transformers.LlamaForCausalLM, {}),
    "qwen2": (transformers.Qwen2Config, transformers.Qwen2ForCausalLM, {"tie_word_embeddings": True}),
    "qwen3": (transformers.Qwen3Config, transformers.Qwen3ForCausalLM, {"head_dim": 16}),
}
FAMILIES = tuple(_CLASSES)


def random_model(
    family: str,
    *,
    seed: int = 0,
    std: float = 0.35,
    dtype: torch.dtype = torch.float32,
    device: str = "cpu",
    context: int = CONTEXT,
    **sizes: Any,
) -> Any:
    """A causal LM of random weights, made on its device and in its dtype; it ends no output by itself.

    Its weights are spread (``std``) widely enough that the greedy output depends on all of the context. ``sizes``:
    fields of its ``transformers`` configuration that differ from those of a tiny one.
    """
    config_class, model_class, extra = _CLASSES[family]
    own = {"vocab_size": len(tokenizer()) + PADDING, "max_position_embeddings": context, "initializer_range": std}
    config = config_class(**(_SIZES | extra | own | sizes))
    config._attn_implementation = "sdpa"
    kept = [device] if device.startswith("cuda") else []
    with _default_dtype(dtype), torch.random.fork_rng(kept), torch.device(device):
        torch.manual_seed(seed)
        return model_class(config).eval()


@contextlib.contextmanager
def _default_dtype(dtype: torch.dtype) -> Iterator[None]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def teach(model: Any, answers: Sequence[tuple[Sequence[int], Sequence[int]]], end: int, *, steps: int = 110) -> Any:
    """Train a model until it answers each prompt with its tokens, and ends with ``end``. Returns it.

    A tiny one whose weights are spread narrowly (``std`` 0.05) learns a dozen answers by heart in a second or two.
    """
    rows = [(list(prompt), [*answer, end]) for prompt, answer in answers]
    width = max(len(prompt) + len(answer) for prompt, answer in rows)
    ids, labels = torch.full((len(rows), width), end), torch.full((len(rows), width), -100)
    for row, (prompt, answer) in enumerate(rows):
        ids[row, : len(prompt) + len(answer)] = torch.tensor(prompt + answer)
        labels[row, len(prompt) : len(prompt) + len(answer)] = torch.tensor(answer)
    model.train()
    model.generation_config.eos_token_id = [end]
    optimizer = torch.optim.AdamW(model.parameters(), lr=8e-3, weight_decay=0.0)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.05, steps)
    for _ in range(steps):
        model(input_ids=ids, labels=labels).loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        schedule.step()
    return model.eval()


def generate(model: Any, prompt: Sequence[int], max_new_tokens: int, **options: Any) -> list[int]:
    """What ``transformers`` makes of a prompt, greedily: the output's tokens, its end token included."""
    ids = torch.tensor([list(prompt)], device=model.device)
    greedy = {"do_sample": False, "max_new_tokens": max_new_tokens, "pad_token_id": 0}
    out = model.generate(ids, attention_mask=torch.ones_like(ids), **greedy, **options)
    output: list[int] = out[0, len(prompt) :].tolist()
    return output


def target_of(model: Any) -> Target:
    return Target(TreeModel(model), GreedyRule.from_config(model.generation_config, "tiny"))


_FREE = ChainCosts(0.0, VerifyCurve(((1, 1.0), (64, 1.0))))  # every chain is as long as it may be


def draft_model_of(model: Any, target: Any, costs: ChainCosts = _FREE) -> DraftModel:
    """``model`` drafts for ``target``."""
    rule = GreedyRule.from_config(target.generation_config, "tiny")
    return DraftModel(TreeModel(model), rule, costs, TreeModel(target).vocabulary)
