"""The engine on stand-ins: what it makes of a request, by every method."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from typing import Any

import pytest
from rich.console import Console

from helpers.stubs import CALL, HINT, Run, ask, call, served
from oospec_async.commands.terminal import print_completion
from oospec_async.errors import OospecError
from oospec_async.request import Message, Request
from oospec_async.runtime.engine import Engine
from oospec_async.testing import END, ScriptedSidecar, ScriptedTarget, scripted_engine

PLAIN = ("ar", "pld", "toolspec")  # methods that take no hints


METHODS = (*PLAIN, "oospec")


@pytest.mark.parametrize("method", METHODS)
def test_the_output_is_the_targets_own_by_every_method(method: str) -> None:
    completion = served(scripted_engine(ScriptedTarget(CALL), ScriptedSidecar()), method=method)
    assert completion.text == CALL
    assert completion.tokens == (*map(ord, CALL), END)
    assert completion.finish == "stop"
    assert [(c.name, c.arguments) for c in completion.calls] == [("get_weather", {"city": "Paris", "days": 3})]
    assert (completion.request, completion.method) == ("Paris?", method)
    assert len(completion.sources) == len(completion.margins) == len(completion.tokens)


def test_ar_drafts_nothing_and_takes_a_round_per_token() -> None:
    metrics = served(scripted_engine(ScriptedTarget(CALL)), method="ar").metrics
    assert (metrics.drafted, metrics.accepted) == (0, 0)
    assert metrics.rounds == metrics.output_tokens - 1
    assert metrics.mean_accepted == 1.0


def test_a_hint_of_the_whole_call_saves_rounds_and_names_itself_as_the_source() -> None:
    sidecar = ScriptedSidecar(HINT)
    engine = scripted_engine(ScriptedTarget(CALL), sidecar)
    hinted = served(engine, method="hint")
    unhinted = served(engine, method="schema")
    assert hinted.tokens == unhinted.tokens
    assert hinted.metrics.rounds < unhinted.metrics.rounds
    assert "hint" in hinted.sources


def test_the_method_of_the_engine_is_the_default() -> None:
    assert served(scripted_engine(ScriptedTarget(CALL), method="pld")).method == "pld"


def test_an_unknown_method_is_refused_by_name() -> None:
    with pytest.raises(OospecError, match="'guess' is neither a method"):
        served(scripted_engine(ScriptedTarget(CALL)), method="schema+guess")


def test_a_method_that_takes_hints_is_refused_without_a_sidecar() -> None:
    for method in ("oospec", "schema+hint"):
        with pytest.raises(OospecError, match="no sidecar is loaded"):
            served(scripted_engine(ScriptedTarget(CALL)), method=method)


def test_a_method_without_hints_launches_no_wave() -> None:
    sidecar = ScriptedSidecar()
    for method in PLAIN:
        served(scripted_engine(ScriptedTarget(CALL), sidecar), method=method)
    assert sidecar.launched == []


def test_a_prompt_that_fills_the_context_is_refused_before_the_target_sees_it() -> None:
    target = ScriptedTarget(CALL, context=6)
    with pytest.raises(OospecError, match="its prompt has 6 tokens and the target's context is 6"):
        served(scripted_engine(target, method="ar"))
    assert target.prompts == []


@pytest.mark.parametrize("method", ["ar", "schema+history"])
def test_an_output_that_the_context_cuts_off_finishes_with_length(method: str) -> None:
    completion = served(scripted_engine(ScriptedTarget(CALL, context=26)), method=method)
    assert completion.finish == "length"
    assert completion.tokens == tuple(map(ord, CALL[:20]))


def test_max_new_tokens_cuts_the_output_off_and_nothing_after_it_is_counted() -> None:
    sidecar = ScriptedSidecar(HINT)
    completion = served(scripted_engine(ScriptedTarget(CALL), sidecar), ask(max_new_tokens=30))
    assert completion.finish == "length"
    assert completion.tokens == tuple(map(ord, CALL[:30]))
    assert completion.metrics.output_tokens == 30
    assert completion.metrics.mean_accepted == 29 / completion.metrics.rounds


def test_one_token_is_one_prefill_and_no_round() -> None:
    completion = served(scripted_engine(ScriptedTarget(CALL), method="ar"), ask(max_new_tokens=1))
    assert completion.tokens == (ord(CALL[0]),)
    assert completion.metrics.rounds == 0
    assert completion.metrics.mean_accepted == 0.0


def test_a_stop_string_ends_the_output() -> None:
    completion = served(scripted_engine(ScriptedTarget(CALL), method="toolspec"), ask(stop=("days",)))
    assert completion.finish == "stop"
    assert completion.text.endswith('"days')


def test_two_requests_with_one_id_or_none_are_served_apart(run: Run) -> None:
    target = ScriptedTarget({"a": call("A"), "b": call("B")})
    engine = scripted_engine(target, ScriptedSidecar())

    async def both() -> tuple[Any, ...]:
        return await asyncio.gather(engine.generate(ask("a", id="")), engine.generate(ask("b", id="")))

    assert [c.text for c in run(both())] == [call("A"), call("B")]


def test_a_request_without_tools_is_served() -> None:
    request = Request(messages=(Message(role="user", content="Hello"),))
    sidecar = ScriptedSidecar(HINT)
    completion = served(scripted_engine(ScriptedTarget("Good day."), sidecar), request)
    assert (completion.text, completion.calls) == ("Good day.", ())


def test_what_calls_nothing_on_offer_is_reported_apart_with_the_reason(capsys: pytest.CaptureFixture[str]) -> None:
    text = f'{{"name": "Ada", "parameters": {{"age": 36}}}}\n{call("Paris")}'
    completion = served(scripted_engine(ScriptedTarget(text)), method="toolspec")
    assert [c.name for c in completion.calls] == ["get_weather"]
    (told,) = completion.invalid_calls
    assert (told.name, told.arguments) == ("Ada", {"age": 36})
    assert json.loads(json.dumps(dataclasses.asdict(completion)))["invalid_calls"] == [dataclasses.asdict(told)]
    print_completion(Console(), completion)
    assert "'Ada' is not among the calls: no function of this name is on offer" in capsys.readouterr().out


def test_a_call_within_the_think_block_that_the_prompt_opened_is_no_call(run: Run) -> None:
    engine = scripted_engine(ScriptedTarget(f"perhaps {call('Rome')}</think>\n{call('Paris')}"))
    completion = run(engine.generate(ask("Paris?<think>\n"), "toolspec"))
    assert [c.arguments["city"] for c in completion.calls] == ["Paris"]


def test_an_engine_that_is_not_asked_to_record_keeps_no_events(run: Run) -> None:
    recorded = scripted_engine(ScriptedTarget(CALL))
    engine = Engine(dataclasses.replace(recorded.parts, record=False))
    for each in (recorded, engine):
        run(each.generate(ask(), "ar"))
    assert recorded.recorder.events
    assert not engine.recorder.events


def test_a_method_learns_from_its_own_earlier_outputs() -> None:
    engine = scripted_engine(ScriptedTarget(CALL))
    cold = served(engine, method="history")
    warm = served(engine, method="history")
    assert warm.metrics.rounds < cold.metrics.rounds
    assert "history" in warm.sources
    assert "history" not in cold.sources


def test_methods_keep_memories_apart_even_where_they_share_drafters() -> None:
    engine = scripted_engine(ScriptedTarget(CALL))
    served(engine, method="history")
    other = served(engine, method="history+lookup")
    alone = served(scripted_engine(ScriptedTarget(CALL)), method="history+lookup")
    assert other.sources == alone.sources


def test_forget_makes_the_next_request_cold() -> None:
    engine = scripted_engine(ScriptedTarget(CALL))
    cold = served(engine, method="toolspec")
    warm = served(engine, method="toolspec")
    engine.forget()
    again = served(engine, method="toolspec")
    assert (again.sources, again.metrics.rounds) == (cold.sources, cold.metrics.rounds)
    assert warm.metrics.rounds < cold.metrics.rounds


def test_a_request_that_failed_teaches_nothing() -> None:
    target = ScriptedTarget(CALL)
    engine = scripted_engine(target)

    def fail(round_: int) -> None:
        if round_ == 40:
            raise MemoryError

    target.before_verify = fail
    with pytest.raises(OospecError):
        served(engine, method="history")
    target.before_verify = lambda round_: None
    assert "history" not in served(engine, method="history").sources
