"""The engine with a draft model on stand-ins: when it is asked, and what becomes of what it says."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import pytest

from helpers.stubs import CALL, Run, YieldingExecutor, ask, served
from oospec_async.decoding.draft_chain import Chain
from oospec_async.errors import OospecError
from oospec_async.runtime.engine import Engine
from oospec_async.testing import CharCodec, ScriptedDraftModel, ScriptedTarget, scripted_engine


def test_a_method_that_drafts_with_a_model_is_refused_without_one() -> None:
    for method in ("draft", "schema+draft"):
        with pytest.raises(OospecError, match="none is loaded; name a draft model"):
            served(scripted_engine(ScriptedTarget(CALL)), method=method)


@pytest.mark.parametrize("method", ["draft", "schema+history+recycle+draft"])
def test_a_draft_model_is_asked_once_a_round_about_what_is_committed_by_then(method: str, run: Run) -> None:
    target = ScriptedTarget(CALL)
    draft_model = ScriptedDraftModel(target)
    engine = scripted_engine(target, draft_model=draft_model, executor=YieldingExecutor(), method=method)
    request = ask(max_new_tokens=len(CALL) + 1)
    completion = run(engine.generate(request))
    assert completion.text == CALL
    assert completion.sources.count("draft") > 0
    assert len(draft_model.asked) == completion.metrics.rounds
    said = 1
    events = [e for e in engine.recorder.events if e.name == "verify"]
    for (tokens, limit), event in zip(draft_model.asked, events, strict=True):
        assert CharCodec().decode(tokens) == request.id + CALL[:said]
        assert limit == len(CALL) + 1 - said - 1
        said += event.data["committed"]


def test_a_right_chain_saves_the_rounds_of_its_tokens_and_a_wrong_one_costs_no_token() -> None:
    target = ScriptedTarget(CALL)
    completion = served(scripted_engine(target, draft_model=ScriptedDraftModel(target)), method="draft")
    assert completion.text == CALL
    metrics = completion.metrics
    assert metrics.rounds < metrics.output_tokens / 3
    assert 0 < metrics.drafted - metrics.accepted <= metrics.rounds / 3 + 1


def test_drafting_happens_on_the_targets_device_within_decode_time() -> None:
    target = ScriptedTarget(CALL)
    engine = scripted_engine(target, draft_model=ScriptedDraftModel(target))
    completion = served(engine, method="draft")
    steps = [e for e in engine.recorder.events if e.track == "target"]
    assert [e.name for e in steps] == ["prefill", *["chain", "verify"] * completion.metrics.rounds]
    spent = sum(e.seconds for e in steps if e.name != "prefill")
    assert spent <= completion.metrics.decode_seconds


def test_a_draft_model_rests_while_other_methods_run_and_begins_anew_with_each_request() -> None:
    target = ScriptedTarget(CALL)
    draft_model = ScriptedDraftModel(target)
    engine = Engine(dataclasses.replace(scripted_engine(target, draft_model=draft_model).parts, reuse_prefix=True))
    for method in ("ar", "draft", "draft", "toolspec", "draft"):
        served(engine, method=method)
    assert draft_model.begun == [False, True, False]


def test_a_draft_model_that_raises_fails_its_request_and_the_next_is_served() -> None:
    class Full(ScriptedDraftModel):
        def chain(self, tokens: Sequence[int], limit: int) -> Chain:
            if len(self.begun) == 1:
                raise MemoryError("out of memory")
            return super().chain(tokens, limit)

    target = ScriptedTarget(CALL)
    engine = scripted_engine(target, draft_model=Full(target), method="draft")
    with pytest.raises(OospecError, match="out of memory"):
        served(engine)
    assert served(engine).text == CALL
