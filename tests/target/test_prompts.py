"""A request as a prompt: by the tokenizer's own template, with the tools told where the template ignores them."""

from __future__ import annotations

from typing import Any

import pytest

from helpers import real, tiny
from oospec_async.dialects.dialect import NAMED
from oospec_async.errors import OospecError
from oospec_async.request import Message, Request, Tool
from oospec_async.target.prompts import Prompts

IGNORES_TOOLS = (
    "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}"
    "{% if add_generation_prompt %}[assistant]{% endif %}"
)
REFUSES_SYSTEM = (
    "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no system!') }}{% endif %}"
    "{{ m.content }}{% endfor %}{% if tools %}{{ tools | tojson }}{% endif %}"
)


class Spoken:
    """The tiny tokenizer with another template."""

    def __init__(self, template: str | None) -> None:
        self.chat_template = template
        self.backend_tokenizer = tiny.tokenizer().backend_tokenizer

    def apply_chat_template(self, messages: Any, **options: Any) -> str:
        text: str = tiny.tokenizer().apply_chat_template(messages, chat_template=self.chat_template, **options)
        return text


def test_tools_and_messages_are_written_by_the_template() -> None:
    text = Prompts(tiny.tokenizer(), "tiny").text(tiny.request("Where is it?"))
    assert text.startswith("<|im_start|>system\n<tools>")
    assert text.endswith("<|im_start|>user\nWhere is it?<|im_end|>\n<|im_start|>assistant\n")
    assert all(f'"name": "{tool.name}"' in text for tool in tiny.TOOLS)


def test_ids_are_those_of_the_text_without_added_ones() -> None:
    prompts = Prompts(tiny.tokenizer(), "tiny")
    asked = tiny.request()
    assert prompts.ids(asked) == tiny.codec().encode(prompts.text(asked))
    assert tiny.codec().decode(prompts.ids(asked)) == prompts.text(asked)


def test_tools_that_the_messages_describe_already_are_not_repeated() -> None:
    assert "<tools>" not in Prompts(tiny.tokenizer(), "tiny").text(tiny.request(tools_in_prompt=True))


def test_a_template_that_ignores_tools_has_them_told_in_the_system_message() -> None:
    prompts = Prompts(Spoken(IGNORES_TOOLS), "m")
    text = prompts.text(tiny.request("Hi"))
    assert text.startswith("[system]You can call functions.")
    assert text.endswith("[user]Hi[assistant]")
    assert '{"name": "get_weather"' in text
    assert prompts.dialects[0] == NAMED["hermes"]


def test_a_system_message_of_the_request_stays_before_what_is_told() -> None:
    messages = (Message(role="system", content="Be brief."), Message(role="user", content="Hi"))
    text = Prompts(Spoken(IGNORES_TOOLS), "m").text(Request(messages=messages, tools=tiny.TOOLS))
    assert text.startswith("[system]Be brief.\n\nYou can call functions.")
    assert text.count("[system]") == 1


def test_without_tools_nothing_is_told() -> None:
    assert Prompts(Spoken(IGNORES_TOOLS), "m").text(tiny.request("Hi", tools=())) == "[user]Hi[assistant]"


def test_the_templates_dialect_comes_first_and_each_opener_once() -> None:
    dialects = Prompts(tiny.tokenizer(), "tiny").dialects
    assert dialects[0].name == "template"
    assert dialects[0].opener == "<tool_call>\n"
    assert dialects[1].name == "fenced"
    assert len({dialect.opener for dialect in dialects}) == len(dialects)


def test_a_tokenizer_without_a_template_is_refused() -> None:
    with pytest.raises(OospecError, match=r"^base/model: its tokenizer has no chat template"):
        Prompts(Spoken(None), "base/model")


def test_messages_that_the_template_refuses_are_an_error_of_the_request() -> None:
    prompts = Prompts(Spoken(REFUSES_SYSTEM), "m")
    asked = Request(id="r7", messages=(Message(role="system", content="x"), Message(role="user", content="y")))
    with pytest.raises(OospecError, match=r"request 'r7': m's chat template refuses it: no system!"):
        prompts.text(asked)


def test_earlier_calls_and_their_results_reach_the_template() -> None:
    call = {"type": "function", "function": {"name": "now", "arguments": {"zone": "São"}}}
    messages = [
        {"role": "user", "content": "Time?"},
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "content": "12:00"},
    ]
    text = Prompts(tiny.tokenizer(), "tiny").text(Request.model_validate({"messages": messages}))
    assert '<tool_call>\n{"name": "now", "arguments": {"zone": "S' in text
    assert "12:00" in text


ASKED: list[dict[str, Any]] = [
    {"role": "user", "content": "Time?"},
    {
        "role": "assistant", "content": "Let me see.", "tool_calls": [
            {"function": {"name": "now", "arguments": '{"zone": "Ö"}'}}, {"function": {"name": "now"}}
        ],
    },
    {"role": "tool", "content": "12:00"},
]  # fmt: skip
CALLS = (
    'Let me see.\n<tool_call>\n{"name": "now", "arguments": {"zone": "Ö"}}\n</tool_call>\n<tool_call>\n'
    '{"name": "now", "arguments": {}}\n</tool_call>'
)


@pytest.mark.parametrize("tools", [tiny.TOOLS, ()])
def test_a_template_that_knows_no_calls_has_them_told_as_it_has_the_tools(tools: tuple[Tool, ...]) -> None:
    asked = Request.model_validate({"messages": ASKED, "tools": tools})
    text = Prompts(Spoken(IGNORES_TOOLS), "m").text(asked)
    assert text.endswith(f"[user]Time?[assistant]{CALLS}[tool]12:00[assistant]")


def test_a_template_that_knows_no_results_has_them_told_by_the_user() -> None:
    drops = "{% for m in messages if m.role != 'tool' %}[{{ m.role }}]{{ m.content }}{% endfor %}"
    refuses = REFUSES_SYSTEM.replace("system", "tool").replace("{{ m.content }}", "[{{ m.role }}]{{ m.content }}")
    for template in (drops, refuses):
        text = Prompts(Spoken(template), "m").text(Request.model_validate({"messages": ASKED}))
        assert text == f"[user]Time?[assistant]{CALLS}[user]<tool_response>\n12:00\n</tool_response>"


def test_a_template_that_wants_arguments_as_text_gets_them_so() -> None:
    template = (
        "{% for m in messages %}{{ '[' + m.role + ']' + m.content }}{% for c in m.tool_calls or [] %}"
        "{{ c.function.name + ' ' + c.function.arguments }};{% endfor %}{% endfor %}"
    )
    text = Prompts(Spoken(template), "m").text(Request.model_validate({"messages": ASKED}))
    assert text == '[user]Time?[assistant]Let me see.now {"zone": "Ö"};now {};[tool]12:00'


@pytest.mark.parametrize(
    "turn",
    [{}, {"content": None}, {"content": ""}, {"content": [], "refusal": "No.", "audio": None, "tool_calls": None},
     {"tool_calls": []}],
)  # fmt: skip
def test_a_turn_without_content_is_an_empty_turn(turn: dict[str, Any]) -> None:
    joins = "{% for m in messages %}{{ '[' + m.role + ']' + m.content }}{% endfor %}{{ 'tool_calls' in messages[1] }}"
    messages = [{"role": "user", "content": "a"}, {"role": "assistant", **turn}, {"role": "user", "content": "b"}]
    asked = Request.model_validate({"messages": messages})
    assert Prompts(Spoken(joins), "m").text(asked) == "[user]a[assistant][user]bFalse"


@pytest.mark.parametrize("name", ["tokenize", "messages", "self"])
def test_what_is_not_for_the_template_is_refused(name: str) -> None:
    asked = tiny.request(id="r8", chat_template_kwargs={"enable_thinking": False, name: True})
    with pytest.raises(OospecError, match=rf"^request 'r8': chat_template_kwargs: '{name}' is no template variable"):
        Prompts(tiny.tokenizer(), "m").text(asked)


def test_qwen3_and_llama_prompts() -> None:
    qwen = Prompts(real.tokenizer("qwen3"), "qwen3")
    assert qwen.dialects[0].opener == "<tool_call>\n"
    assert "# Tools" in qwen.text(tiny.request())
    silent = tiny.request(chat_template_kwargs={"enable_thinking": False})
    assert qwen.text(tiny.request()).endswith("<|im_start|>assistant\n")
    assert qwen.text(silent).endswith("<|im_start|>assistant\n<think>\n\n</think>\n\n")
    llama = Prompts(real.tokenizer("llama3_1"), "llama")
    assert "You can call functions." in llama.text(tiny.request())
    ids = llama.ids(tiny.request())
    assert ids.count(ids[0]) == 1  # one begin-of-text
