"""Invariant 3: a round never awaits the sidecar; polling the channel is a plain function call."""

from __future__ import annotations

import asyncio
import inspect

from helpers.stubs import CALL, HINT, ask
from oospec_async.sidecar.channel import HintReader
from oospec_async.testing import ScriptedSidecar, ScriptedTarget, scripted_engine


def test_polling_is_a_plain_function_call() -> None:
    assert inspect.isfunction(HintReader.poll)
    assert not inspect.iscoroutinefunction(HintReader.poll)
    assert not inspect.isgeneratorfunction(HintReader.poll)
    assert not inspect.isawaitable(ScriptedSidecar().reader.poll())


def test_a_request_whose_wave_never_ends_is_decoded_to_its_end() -> None:
    sidecar = ScriptedSidecar()
    completion = asyncio.run(scripted_engine(ScriptedTarget(CALL), sidecar).generate(ask()))
    assert completion.text == CALL
    assert completion.metrics.hint.versions == 0
    assert sidecar.cancelled == sidecar.launched


def test_all_rounds_run_without_the_sidecar_getting_one_turn_of_the_loop() -> None:
    """The target's calls take no turn of the loop here, so a round that awaited anything would let the wave go on."""
    turns = 0

    class Eager(ScriptedSidecar):
        async def wave(self, *args: object, **kwargs: object) -> None:
            nonlocal turns
            while True:
                await asyncio.sleep(0)
                turns += 1

    target = ScriptedTarget(CALL)
    seen: list[int] = []
    target.before_verify = lambda round_: seen.append(turns)
    completion = asyncio.run(scripted_engine(target, Eager()).generate(ask()))
    assert completion.metrics.rounds == len(seen) > 5
    assert len(set(seen)) == 1


def test_a_poll_that_finds_nothing_costs_a_round_nothing_but_its_hint() -> None:
    """The same rounds and drafts as without a hint drafter: what never arrives changes nothing."""
    hinted = asyncio.run(scripted_engine(ScriptedTarget(CALL), ScriptedSidecar()).generate(ask(), "oospec"))
    plain = asyncio.run(scripted_engine(ScriptedTarget(CALL)).generate(ask(), "toolspec"))
    assert (hinted.metrics.rounds, hinted.metrics.drafted) == (plain.metrics.rounds, plain.metrics.drafted)
    assert hinted.sources == plain.sources


def test_every_round_polls_once_and_takes_the_newest_hint() -> None:
    target, sidecar = ScriptedTarget(CALL), ScriptedSidecar()
    polls = 0
    poll = sidecar.reader.poll

    def counted() -> object:
        nonlocal polls
        polls += 1
        return poll()

    sidecar.reader.poll = counted  # type: ignore[method-assign,assignment]
    target.before_verify = lambda round_: [sidecar.publish(HINT) for _ in range(3)]
    completion = asyncio.run(scripted_engine(target, sidecar).generate(ask()))
    assert polls == completion.metrics.rounds
    assert completion.metrics.hint.versions == completion.metrics.rounds - 1
