"""What stands around calls: read off a finished output, written on in a half-written one."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.strategies import OUTPUTS
from oospec_async.dialects.call_site import locate
from oospec_async.dialects.dialect import NAMED, Dialect, Spacing
from oospec_async.dialects.render import render_object
from oospec_async.dialects.wrapping import closing_left, dialects_at, observed_dialect, opening_left

HERMES, FENCED, LLAMA, LIST, API_BANK = (NAMED[name] for name in ("hermes", "fenced", "llama", "list", "api-bank"))
KNOWN = list(NAMED.values())


def calls(dialect: Dialect, *names: str) -> str:
    """A whole output."""
    objects = [
        render_object({dialect.name_key: name, dialect.arguments_key: {"a": 1, "b": [2]}}, dialect.spacing).text
        for name in names
    ]
    return dialect.opener + dialect.between.join(objects) + dialect.closer


def form(dialect: Dialect | None) -> tuple[str, str, str, str]:
    assert dialect is not None
    return dialect.opener, dialect.closer, dialect.between, dialect.arguments_key


# --- reading ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", KNOWN, ids=lambda d: d.name)
@pytest.mark.parametrize("thought", ["", "<think>\nHm {\n</think>\n\n"])
def test_a_finished_output_shows_the_named_dialect_that_it_was_written_in(dialect: Dialect, thought: str) -> None:
    seen = observed_dialect(thought + calls(dialect, "f", "g"), KNOWN)
    assert form(seen) == form(dialect)
    assert seen is not None
    assert seen.spacing == dialect.spacing


@pytest.mark.parametrize("dialect", KNOWN, ids=lambda d: d.name)
def test_one_call_is_enough_for_opener_closer_and_keys(dialect: Dialect) -> None:
    seen = observed_dialect(calls(dialect, "f"), KNOWN)
    assert form(seen)[:2] == form(dialect)[:2]
    assert form(seen)[3] == form(dialect)[3]


@pytest.mark.parametrize("dialect", [HERMES, API_BANK], ids=lambda d: d.name)
def test_a_call_without_arguments_shows_the_known_key_for_them(dialect: Dialect) -> None:
    assert form(observed_dialect(dialect.opener + '{"name": "f"}' + dialect.closer, KNOWN))[3] == dialect.arguments_key
    later = observed_dialect('<tool_call>{"name": "f"}</tool_call>\n{"name": "g", "parameters": {}}', [])
    assert form(later)[3] == "parameters"


def test_an_unknown_dialect_is_taken_literally() -> None:
    seen = observed_dialect('[TOOL_CALLS] {"function":"f","arguments":{"a":1}}</s>', [])
    assert form(seen) == ("[TOOL_CALLS] ", "</s>", "</s>\n[TOOL_CALLS] ", "arguments")
    assert seen is not None
    assert seen.name_key == "function"
    assert seen.spacing.colon == ""


def test_prose_around_a_call_is_no_part_of_its_dialect() -> None:
    text = calls(HERMES, "f")
    assert form(observed_dialect("Of course, let me look that up for you. " + text, KNOWN)) == form(HERMES)
    long = "Of course, let me look that up for you right now. " + json.dumps({"name": "f", "arguments": {}})
    assert form(observed_dialect(long, []))[0] == ""


@pytest.mark.parametrize("indent", [1, 2, 4])
@pytest.mark.parametrize("colon", ["", " "])
def test_the_spacing_is_observed(indent: int, colon: str) -> None:
    spacing = Spacing(colon=colon, indent=indent)
    seen = observed_dialect(render_object({"name": "f", "arguments": {"a": 1, "b": 2}}, spacing).text, KNOWN)
    assert seen is not None
    assert (seen.spacing.colon, seen.spacing.indent) == (colon, indent)


def test_there_is_no_dialect_in_an_output_without_calls() -> None:
    assert observed_dialect("No {calls} here.", KNOWN) is None
    assert observed_dialect(f"<think>{calls(HERMES, 'f', 'g')}", KNOWN) is None


@given(text=OUTPUTS | st.text())
def test_observing_any_text_never_raises(text: str) -> None:
    observed_dialect(text, KNOWN)


# --- writing on -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", [d for d in KNOWN if d.opener], ids=lambda d: d.name)
@pytest.mark.parametrize("lead", ["", "\n\n", "<think>\nSo?\n</think>\n\n"])
def test_a_half_written_opener_is_completed(dialect: Dialect, lead: str) -> None:
    for cut in range(len(dialect.opener)):
        text = lead + dialect.opener[:cut]
        assert opening_left(text, locate(text), dialect) == dialect.opener[cut:]


def opening(text: str, dialect: Dialect = HERMES) -> str | None:
    return opening_left(text, locate(text), dialect)


def test_an_opener_that_visibly_begins_within_prose_is_completed() -> None:
    assert opening("Let me see. <tool_") == "call>\n"
    assert opening("Let me see. ") is None
    assert opening("1 < 2, <") is None


def test_after_a_call_its_closer_or_the_way_to_the_next_call_is_written() -> None:
    first = HERMES.opener + '{"name": "f", "arguments": {}}'
    for cut in range(len(HERMES.closer) + 1):
        text = first + HERMES.closer[:cut]
        assert closing_left(text, locate(text), HERMES) == HERMES.closer[cut:]
        assert opening(text) == HERMES.between[cut:]
    assert closing_left(first + " and", locate(first + " and"), HERMES) is None
    assert opening(first + " and") is None


def test_dialects_that_explain_what_is_written_come_first() -> None:
    def first(text: str) -> str:
        return dialects_at(text, locate(text), KNOWN)[0].name

    assert first("") == KNOWN[0].name
    assert first('```json\n{"name": ') == "fenced"
    assert first('<tool_call>\n{"name": ') == "hermes"
    assert first('[{"name": ') == "list"
    assert first('{"name": ') == "llama"
    assert first('```<tool_call>\n{"name": "f", "parameters": {}}\n') == "api-bank"


@given(text=OUTPUTS | st.text(), thinking=st.booleans())
def test_asking_what_is_left_after_any_text_never_raises(text: str, thinking: bool) -> None:
    site: Any = locate(text, thinking=thinking)
    for dialect in dialects_at(text, site, KNOWN):
        opening_left(text, site, dialect)
        closing_left(text, site, dialect)
