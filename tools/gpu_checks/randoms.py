"""Models of random weights, a byte-level tokenizer that knows no merges, and a request to serve with them."""

from __future__ import annotations

import gc
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from oospec_async.request import Message, Request, Tool
from tools.gpu_checks.base import Shape

transformers.utils.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()

_CLASSES = {
    "llama": (transformers.LlamaConfig, transformers.LlamaForCausalLM),
    "qwen2": (transformers.Qwen2Config, transformers.Qwen2ForCausalLM),
    "qwen3": (transformers.Qwen3Config, transformers.Qwen3ForCausalLM),
}
_START, _END = "<|im_start|>", "<|im_end|>"
_TEMPLATE = """\
{%- if tools %}{{ '<|im_start|>system\\n<tools>' }}
{%- for tool in tools %}{{ '\\n' }}{{ tool | tojson }}{% endfor %}{{ '\\n</tools><|im_end|>\\n' }}{% endif %}
{%- for message in messages %}{{ '<|im_start|>' + message.role + '\\n' }}
{%- if message.content %}{{ message.content }}{% endif %}
{%- for call in message.tool_calls or [] %}{% if not loop.first or message.content %}{{ '\\n' }}{% endif %}
{{- '<tool_call>\\n{"name": "' + call.function.name + '", "arguments": ' }}
{{- call.function.arguments | tojson }}{{ '}\\n</tool_call>' }}{% endfor %}{{ '<|im_end|>\\n' }}{% endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"""


def random_model(family: str, device: str, dtype: torch.dtype, *, seed: int = 0, std: float, **sizes: Any) -> Any:
    """A causal LM made on the device, in its dtype from the start; it ends no output unless ``sizes`` say so."""
    config_class, model_class = _CLASSES[family]
    ends = {"bos_token_id": None, "eos_token_id": None, "pad_token_id": None}
    config = config_class(**{**ends, "initializer_range": std, **sizes})
    config._attn_implementation = "sdpa"
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        torch.manual_seed(seed)
        with torch.device(device):
            return model_class(config).eval()
    finally:
        torch.set_default_dtype(before)


def shaped_model(shape: Shape, device: str, context: int) -> Any:
    """A bfloat16 model with the sizes of a real one."""
    return random_model(
        "qwen3",
        device,
        torch.bfloat16,
        std=0.02,
        num_hidden_layers=shape.layers,
        hidden_size=shape.hidden,
        intermediate_size=shape.intermediate,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.kv_heads,
        head_dim=shape.head_dim,
        vocab_size=shape.vocabulary,
        tie_word_embeddings=shape.tied,
        max_position_embeddings=context,
    )


def free(device: str) -> None:
    """Give back what models that are gone have held."""
    gc.collect()
    if device.startswith("cuda"):
        torch.cuda.empty_cache()


def synchronize(device: str) -> None:
    if device.startswith("cuda"):
        torch.cuda.synchronize(device)


def tokenizer(size: int = 0) -> Any:
    """Every byte is a token. Further ids below ``size`` have texts too: they can be read, and are never written."""
    texts = [*sorted(pre_tokenizers.ByteLevel.alphabet()), _START, _END]
    vocabulary = {text: number for number, text in enumerate(texts)}
    vocabulary |= {f"Ġw{number}": number for number in range(len(texts), size)}
    bpe = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    bpe.add_special_tokens([_START, _END])
    return transformers.PreTrainedTokenizerFast(tokenizer_object=bpe, eos_token=_END, chat_template=_TEMPLATE)


def _tool(name: str, **kinds: str) -> Tool:
    properties = {key: {"type": kind} for key, kind in kinds.items()}
    return Tool(name=name, parameters={"type": "object", "properties": properties, "required": list(kinds)})


def request(tokens: int) -> Request:
    tools = (
        _tool("get_weather", city="string", days="integer", unit="string", alerts="boolean"),
        _tool("send_mail", recipient="string", subject="string", body="string"),
    )
    message = Message(role="user", content="What is the weather in Paris for the next three days?")
    return Request(messages=(message,), tools=tools, max_new_tokens=tokens, id="weather")
