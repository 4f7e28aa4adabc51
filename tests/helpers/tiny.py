"""Tiny models and a tiny tokenizer, made in milliseconds and the same in every run."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import torch
import transformers
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

from oospec_async.decoding.draft_chain import ChainCosts
from oospec_async.decoding.tree import VerifyCurve
from oospec_async.request import Message, Request, Tool
from oospec_async.target.codec import TokenizerCodec
from oospec_async.target.draft_model import DraftModel
from oospec_async.target.greedy import GreedyRule
from oospec_async.target.target import Target
from oospec_async.target.tree_model import TreeModel

torch.set_num_threads(1)
transformers.utils.logging.set_verbosity_error()

CONTEXT = 512
PADDING = 29  # rows of the models' vocabulary that the tokenizer does not know

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

WEATHER = Tool(
    name="get_weather",
    description="Weather of a place.",
    parameters={
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "days": {"type": "integer"},
            "unit": {"type": "string", "enum": ["celsius", "kelvin"]},
            "alerts": {"type": "boolean"},
        },
        "required": ["city"],
    },
)
ORDER = Tool(
    name="get_order",
    description="Look up an order.",
    parameters={
        "type": "object",
        "properties": {
            "id": {"type": "integer"},
            "items": {"type": "array", "items": {"type": "string"}},
            "address": {"type": "object", "properties": {"street": {"type": "string"}, "zip": {"type": "integer"}}},
        },
        "required": ["id"],
    },
)
TIME = Tool(name="now", description="The time.", parameters={"type": "object", "properties": {}})
TOOLS = (WEATHER, ORDER, TIME)


def _corpus() -> list[str]:
    calls = [json.dumps({"name": tool.name, "arguments": {"city": "Köln", "days": 3}}) for tool in TOOLS]
    schemas = [json.dumps(tool.as_openai(), ensure_ascii=False) for tool in TOOLS]
    prose = ["What is the weather in Paris for the next days?", "Where is my order? Its id is 1234.", "  \n\n  {\n    "]
    prose += [" true false null"] * 20
    return [f"<tool_call>\n{call}\n</tool_call>" for call in calls] + schemas + prose


@cache
def tokenizer() -> Any:
    """A byte-level BPE of some 450 tokens; the tags of calls are tokens of their own, as Qwen's are."""
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=440,
        special_tokens=["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    bpe.train_from_iterator(_corpus(), trainer)
    tags = ("<tool_call>", "</tool_call>", "<think>", "</think>")
    bpe.add_tokens([AddedToken(tag, special=False, normalized=False) for tag in tags])
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=bpe, eos_token="<|im_end|>", pad_token="<|endoftext|>", chat_template=TEMPLATE
    )


@cache
def codec() -> TokenizerCodec:
    return TokenizerCodec(tokenizer())


def token(text: str) -> int:
    """The id of a text that is one token."""
    (only,) = codec().encode(text)
    return only


_SIZES: dict[str, Any] = {
    "hidden_size": 48,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": CONTEXT,
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
    context: int = CONTEXT,
    padding: int = PADDING,
) -> Any:
    """A model of random weights, spread widely enough that its greedy output depends on all of its context."""
    config_class, model_class, extra = _CLASSES[family]
    sizes = {**_SIZES, **extra, "max_position_embeddings": context, "initializer_range": std}
    config = config_class(vocab_size=len(tokenizer()) + padding, **sizes)
    config._attn_implementation = "sdpa"
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return model_class(config).to(dtype).eval()


def target_of(model: Any) -> Target:
    return Target(TreeModel(model), GreedyRule.from_config(model.generation_config, "tiny"))


_FREE = ChainCosts(0.0, VerifyCurve(((1, 1.0), (64, 1.0))))  # every chain is as long as it may be


def draft_model_of(model: Any, target: Any, costs: ChainCosts = _FREE) -> DraftModel:
    """``model`` drafts for ``target``."""
    rule = GreedyRule.from_config(target.generation_config, "tiny")
    return DraftModel(TreeModel(model), rule, costs, TreeModel(target).vocabulary)


def generate(model: Any, prompt: list[int], max_new_tokens: int, **options: Any) -> list[int]:
    """What ``transformers`` makes of a prompt: the output ids, its end token included."""
    ids = torch.tensor([prompt])
    out = model.generate(
        ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=max_new_tokens, pad_token_id=0,
        **options,
    )  # fmt: skip
    output: list[int] = out[0, len(prompt) :].tolist()
    return output


def request(text: str = "What is the weather in Paris?", tools: tuple[Tool, ...] = TOOLS, **more: Any) -> Request:
    return Request(messages=(Message(role="user", content=text),), tools=tools, **more)


def prompt_ids(asked: Request) -> list[int]:
    from oospec_async.target.prompts import Prompts

    return Prompts(tokenizer(), "tiny").ids(asked)
