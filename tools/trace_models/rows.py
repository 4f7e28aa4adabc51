"""Rows of BFCL as decoded requests: prompts as a chat template writes them, outputs as it writes the gold calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oospec_async.errors import OospecError
from oospec_async.request import Json, Request, parse_request
from oospec_async.target.codec import TokenizerCodec
from oospec_async.target.prompts import Prompts
from oospec_async.toolcall import ToolCall
from oospec_async.training.data.readers.base import check_gold
from oospec_async.training.data.readers.bfcl import Bfcl
from oospec_async.training.notes import Notes
from oospec_async.training.row_files import beside, read_rows

_END = "<|im_end|>"


class Unthinking:
    """A tokenizer whose chat template is told to leave thinking out."""

    def __init__(self, tokenizer: Any) -> None:
        self.chat_template = tokenizer.chat_template
        self.backend_tokenizer = tokenizer.backend_tokenizer
        self._tokenizer = tokenizer

    def apply_chat_template(self, messages: list[dict[str, Any]], **options: Any) -> str:
        text: str = self._tokenizer.apply_chat_template(messages, **options, enable_thinking=False)
        return text


@dataclass(frozen=True)
class Case:
    """A request, its gold calls, and both as the target's tokens."""

    category: str
    request: Request
    gold: tuple[ToolCall, ...]
    prompt: tuple[int, ...]
    output: tuple[int, ...]


class Writer:
    """Writes requests and answers with a tokenizer's own chat template."""

    def __init__(self, tokenizer: Any, name: str) -> None:
        """Raises OospecError if the tokenizer has no chat template, or no token that ends a turn."""
        if _END not in tokenizer.get_vocab():
            raise OospecError(f"{name}: has no token {_END}; name the tokenizer of a Qwen model")
        self.tokenizer = Unthinking(tokenizer)
        self.prompts = Prompts(self.tokenizer, name)
        self.codec = TokenizerCodec(tokenizer)
        self.end_token: int = tokenizer.convert_tokens_to_ids(_END)

    def case(self, category: str, request: Request, gold: Sequence[ToolCall]) -> Case:
        """Raises OospecError where the template writes an answer that does not go on from its prompt."""
        prompt = self.prompts.text(request)
        calls = [{"type": "function", "function": {"name": c.name, "arguments": c.arguments}} for c in gold]
        messages = [message.model_dump(exclude_none=True) for message in request.messages]
        answered = [*messages, {"role": "assistant", "content": "", "tool_calls": calls}]
        tools = [tool.as_openai() for tool in request.tools]
        whole = self.tokenizer.apply_chat_template(
            answered, tools=tools, tokenize=False, add_generation_prompt=False
        ).rstrip("\n")
        if not whole.startswith(prompt) or not whole.endswith(_END):
            raise OospecError(f"request {request.id!r}: the template's answer does not go on from its prompt")
        output = self.codec.encode(whole[len(prompt) :])
        return Case(category, request, tuple(gold), tuple(self.codec.encode(prompt)), tuple(output))


def read_cases(data: Path, category: str, writer: Writer, longest: int, notes: Notes) -> Iterator[Case]:
    """The category's rows as cases. What cannot be one is left out and noted; raises OospecError for a broken file."""
    path = beside(data / f"BFCL_v4_{category}.json", "")
    if path is None:
        raise OospecError(f"--data {data}: there is no BFCL_v4_{category}.json; name the directory of BFCL's files")
    reader = Bfcl(path, notes)
    for row in read_rows(path):
        try:
            raw = next(reader.requests(row))
            request = parse_request({**raw, "max_new_tokens": longest}, row.where)
            gold = _gold(raw.get("gold"))
            if not gold:
                notes.add("left out: no gold call", row.where)
                continue
            if any(request.tool(call.name) is None for call in gold):
                notes.add("left out: a gold call of a function that the row does not offer", row.where)
                continue
            check_gold(request, raw["gold"], row.where, notes)
            case = writer.case(category, request, gold)
        except OospecError as error:
            notes.add("left out: malformed row or accepted answers", str(error))
            continue
        if len(case.output) > longest:
            notes.add(f"left out: its gold output has more than {longest} tokens", row.where)
            continue
        yield case


def _gold(raw: Json) -> list[ToolCall]:
    return [ToolCall(call["name"], call["arguments"]) for call in raw or []]
