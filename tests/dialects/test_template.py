"""The dialect that a chat template writes calls in is read off its own rendering."""

from __future__ import annotations

import json
from typing import Any

import jinja2
import pytest

from helpers import tiny
from helpers.real import tokenizer
from oospec_async.dialects.dialect import Dialect, Spacing
from oospec_async.dialects.template import Render, dialect_from_template, takes_tools


def _raise(message: str) -> None:
    raise jinja2.TemplateError(message)


def rendering(template: str) -> Render:
    environment = jinja2.Environment(trim_blocks=True, lstrip_blocks=True, autoescape=False)
    environment.filters["tojson"] = lambda value, **more: json.dumps(value, ensure_ascii=False, **more)
    compiled = environment.from_string(template)

    def render(messages: list[dict[str, Any]], tools: list[dict[str, Any]], prompt: bool) -> str:
        return compiled.render(
            messages=messages, tools=tools, add_generation_prompt=prompt, raise_exception=_raise, bos="<s>"
        )

    return render


def template(call: str, *, begin: str = "", end: str = "", between: str = "", turn: str = "<|eot|>") -> str:
    """A template that lists the tools, and writes an assistant's calls by ``call``."""
    return "".join(
        [
            "{{ '<s>' }}{% for tool in tools or [] %}{{ tool | tojson }}{% endfor %}",
            "{% for message in messages %}{{ '[' + message.role + ']' }}{% if message.tool_calls %}",
            f"{{{{ {begin!r} }}}}{{% for call in message.tool_calls %}}{call}",
            f"{{% if not loop.last %}}{{{{ {between!r} }}}}{{% endif %}}{{% endfor %}}{{{{ {end!r} }}}}",
            f"{{% else %}}{{{{ message.content }}}}{{% endif %}}{{{{ {turn!r} }}}}{{% endfor %}}",
            "{% if add_generation_prompt %}{{ '[assistant]' }}{% endif %}",
        ]
    )


OBJECT = """{{- '{"name": "' + call.function.name + '", "arguments": ' + (call.function.arguments | tojson) + '}' -}}"""
PARAMETERS = OBJECT.replace('arguments":', 'parameters":')
TEXT_ONLY = """{%- if call.function.arguments is not string -%}{{ raise_exception('text!') }}{%- endif -%}
{{- '{"name": "' + call.function.name + '", "arguments": ' + call.function.arguments + '}' -}}"""
INDENTED = """{{- {'name': call.function.name, 'arguments': call.function.arguments} | tojson(indent=2) -}}"""

BETWEEN = "\n</tool_call>\n<tool_call>\n"
HERMES = Dialect("template", "<tool_call>\n", "\n</tool_call>", BETWEEN)
DIALECTS = {
    "hermes": (
        rendering(template(OBJECT, begin="<tool_call>\n", end="\n</tool_call>", between=BETWEEN)),
        HERMES,
    ),
    "llama": (
        rendering(template(PARAMETERS, between="; ")),
        Dialect("template", "", "", "; ", arguments_key="parameters"),
    ),
    "arguments as text": (
        rendering(template(TEXT_ONLY, begin="[CALLS] ", end="[/CALLS]", between=", ")),
        Dialect("template", "[CALLS] ", "[/CALLS]", ", "),
    ),
    "a list": (rendering(template(OBJECT, begin="[", end="]", between=", ")), Dialect("template", "[", "]", ", ")),
    "indented": (
        rendering(template(INDENTED, begin="```json\n", end="\n```", between="\n```\n```json\n")),
        Dialect("template", "```json\n", "\n```", "\n```\n```json\n", spacing=Spacing(indent=2)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DIALECTS)
def test_a_template_that_writes_calls_shows_its_dialect(name: str) -> None:
    render, dialect = DIALECTS[name]
    assert dialect_from_template(render) == dialect
    assert takes_tools(render)


def test_a_template_that_allows_one_call_at_a_time_repeats_what_stands_around_it() -> None:
    once = template(OBJECT, begin="<call>", end="</call>").replace(
        "{% if message.tool_calls %}",
        "{% if message.tool_calls and message.tool_calls | length > 1 %}{{ raise_exception('one!') }}{% endif %}"
        "{% if message.tool_calls %}",
    )
    dialect = dialect_from_template(rendering(once))
    assert dialect == Dialect("template", "<call>", "</call>", "</call>\n<call>")


def test_a_think_block_that_the_template_adds_is_no_part_of_the_dialect() -> None:
    render, dialect = DIALECTS["hermes"]

    def thinks(messages: list[dict[str, Any]], tools: list[dict[str, Any]], prompt: bool) -> str:
        return render(messages, tools, prompt).replace("[assistant]<", "[assistant]<think>\n\n</think>\n\n<")

    assert dialect_from_template(thinks) == dialect


@pytest.mark.parametrize(
    "call",
    ["{{ raise_exception('no calls') }}", "", "{{ call.function.name }}()", "<f>{{ call.function.arguments }}</f>"],
)
def test_a_template_that_refuses_ignores_or_spells_calls_otherwise_has_no_dialect(call: str) -> None:
    assert dialect_from_template(rendering(template(call))) is None


def test_a_template_that_ignores_tools_is_recognised() -> None:
    render = rendering(template("").replace("tools or []", "[]"))
    assert not takes_tools(render)
    assert dialect_from_template(render) is None


def _render_of(tokenizer: Any) -> Render:
    return lambda messages, tools, prompt: str(
        tokenizer.apply_chat_template(messages, tools=tools, tokenize=False, add_generation_prompt=prompt)
    )


def test_the_tiny_tokenizers_template_is_hermes() -> None:
    dialect = dialect_from_template(_render_of(tiny.tokenizer()))
    assert dialect == HERMES


def test_qwen3s_own_template_is_hermes() -> None:
    dialect = dialect_from_template(_render_of(tokenizer("qwen3")))
    assert dialect == HERMES


def test_llamas_template_that_ignores_tools_has_no_dialect() -> None:
    render = _render_of(tokenizer("llama3_1"))
    assert not takes_tools(render)
    assert dialect_from_template(render) is None
