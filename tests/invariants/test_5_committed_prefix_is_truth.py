"""Invariant 5: what is drafted follows from the committed prefix, whatever the rounds were that led there."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import tiny
from helpers.calling import ANSWERS, KOELN, PARIS, question
from helpers.loop import setting
from helpers.recorded import FREE, Case, serve, serve_calling
from helpers.stubs import call
from oospec_async.decoding.drafters import METHODS, needs_of
from oospec_async.decoding.drafters.needs import CHAINS
from oospec_async.decoding.memory import Memory, Recollection
from oospec_async.decoding.state import DecodeState, Setting
from oospec_async.decoding.tree import DraftTree, VerifyCurve
from oospec_async.decoding.verify import Limits
from oospec_async.hints import CallHint, Hint
from oospec_async.recording.profile import profiles
from oospec_async.runtime.engine import Engine
from oospec_async.testing import state_after

HINT = Hint((CallHint("get_weather", PARIS["arguments"]), CallHint("get_weather", KOELN["arguments"])))
OTHER_HINT = Hint((CallHint("get_order", {"id": 5, "items": ["Paris"]}),))
PROFILED = [*(method for method in METHODS if CHAINS not in needs_of(method)), "lookup+recycle+hint"]
Shape = tuple[list[int], list[int], list[str]]


def shape(tree: DraftTree) -> Shape:
    return tree.tokens, tree.parents, tree.sources


def remembered() -> Recollection:
    memory = Memory()
    for answer in ANSWERS.values():
        memory.learn(tiny.codec().encode(answer), None, Recollection(successors={65: [340, 12]}), None)
    return memory.recall(None)


def asked(method: str) -> Setting:
    return setting(question("plain"), Limits(10_000), method=method, memory=remembered())


def in_blocks(output: Sequence[int], method: str, seed: int) -> DecodeState:
    """Commit ``output`` in rounds of random trees, right ones and wrong ones; hints come and go."""
    chance = random.Random(seed)
    state = DecodeState(asked(method))
    while len(state.output) < len(output):
        state.propose(chance.choice([None, HINT, OTHER_HINT]))
        tree = DraftTree([state.output[-1] if state.output else question("plain")[-1]])
        for _ in range(chance.randrange(3)):
            tree.add(chance.randrange(400), chance.randrange(len(tree)), "wrong")
        node, predicted = 0, [chance.randrange(400) for _ in range(len(tree))]
        ahead = output[len(state.output) :]
        for token in ahead[: chance.randrange(6)][:-1]:
            child = tree.children[node].get(token)
            predicted[node] = token
            node = tree.add(token, node, "right") if child is None else child
            predicted += [chance.randrange(400)] * (len(tree) - len(predicted))
        predicted[node] = ahead[min(tree.depths[node], len(ahead) - 1)]
        tree.children[node].clear()  # the round ends here
        state.commit(tree, predicted, [[token] for token in predicted])
    return state


@pytest.mark.parametrize("method", [*METHODS, "lookup+recycle+hint"])
def test_the_tree_is_the_same_however_the_prefix_was_committed(method: str) -> None:
    for number, answer in enumerate(ANSWERS.values()):
        output = tiny.codec().encode(answer)
        for length in range(1, len(output), 5):
            prefix = output[:length]
            plain = state_after(prefix, asked(method))
            for seed in range(2):
                state = in_blocks(prefix, method, 1000 * number + seed)
                assert state.output == prefix
                for hint in (None, HINT, OTHER_HINT):
                    assert shape(state.propose(hint)) == shape(plain.propose(hint))


def test_proposing_changes_nothing() -> None:
    state = state_after(tiny.codec().encode(ANSWERS["plain"])[:20], asked("oospec"))
    first = shape(state.propose(HINT))
    for hint in (None, OTHER_HINT, HINT):
        state.propose(hint)
    assert shape(state.propose(HINT)) == first


def test_recycle_learns_from_committed_positions_only() -> None:
    state = state_after([10, 11], asked("recycle"))
    tree = DraftTree([11])
    right, wrong = tree.add(12, 0, ""), tree.add(13, 0, "")
    below = tree.add(14, wrong, "")
    state.commit(tree, [12, 20, 30, 40], [[12], [20], [30], [40]])
    known = state._setting.memory.successors
    assert known[11] == [12]
    assert known[tree.tokens[right]] == [20]
    assert tree.tokens[wrong] not in known
    assert tree.tokens[below] not in known


def test_the_history_is_the_one_at_the_requests_start() -> None:
    memory = Memory()
    recollection = memory.recall(None)
    memory.learn(tiny.codec().encode(ANSWERS["plain"]), None, Recollection(successors={1: [2]}), None)
    assert not recollection.entries
    assert not recollection.successors_of(1)


def assert_profiled(engine: Engine) -> int:
    """Every round that the engine has recorded drafted and accepted what a profile says of its position and hint."""
    rounds = 0
    for served in engine.recorder.served:
        made = {profile.version: profile for profile in profiles(served.decode, served.hints)}
        version = 0
        for event in engine.recorder.events:
            if event.request != served.request:
                continue
            if event.name == "poll":
                version = event.data["version"]
            elif event.name == "verify":
                profile, index = made[version], event.data["position"] - 1
                assert profile.drafted[index] == event.data["tokens"] - 1
                assert profile.accepted[index] == event.data["accepted"]
                rounds += 1
    return rounds


CURVES = [FREE, VerifyCurve(), VerifyCurve(((1, 1.0), (4, 1.5), (64, 40.0)))]
SLOTS = {"city": "Paris", "days": 3}
VALUES = {"city": st.sampled_from(["Paris", "Köln", "Par", 'a "b"']), "days": st.integers(2, 4)}
CALLS = st.builds(
    CallHint,
    st.just("get_weather"),
    st.fixed_dictionaries({}, optional=VALUES),
    st.sets(st.sampled_from(sorted(SLOTS)), max_size=1).map(frozenset),
)
HINTS = st.dictionaries(st.integers(0, 40), st.lists(CALLS, min_size=1, max_size=2).map(tuple), max_size=4)
TEXTS = st.sampled_from([call("Paris"), call("Köln", 2), call("Paris") + "\n" + call("Köln"), "No call. " * 5, ""])


def versioned(calls: dict[int, tuple[CallHint, ...]]) -> dict[int, Hint]:
    """Hints by round; later rounds carry higher versions, not always the next one."""
    return {number: Hint(calls[number], 1 + 2 * rank) for rank, number in enumerate(sorted(calls))}


@given(
    st.lists(st.tuples(TEXTS, HINTS, st.integers(1, 150), st.sampled_from([(), ("days",)])), min_size=1, max_size=3),
    st.sampled_from(PROFILED),
    st.sampled_from(CURVES),
)
@settings(max_examples=40)
def test_rounds_are_those_of_the_profile_whenever_hints_come_and_whatever_was_served_before(
    rows: list[tuple[str, dict[int, tuple[CallHint, ...]], int, tuple[str, ...]]], method: str, curve: VerifyCurve
) -> None:
    cases = [
        Case(str(number), text, versioned(hints), limit, stop) for number, (text, hints, limit, stop) in enumerate(rows)
    ]
    engine = serve(cases, method, curve)
    rounds = sum(event.name == "verify" for event in engine.recorder.events)
    assert assert_profiled(engine) == rounds


@pytest.mark.parametrize("method", PROFILED)
def test_rounds_of_a_transformer_are_those_of_the_profile(method: str) -> None:
    """Successors come from its logits, and the history, sorted by its prompt states, from its own earlier outputs."""
    names = [f"{number}:{name}" for number, name in enumerate([*ANSWERS, "plain"])]
    hints = [{}, {0: HINT}, {2: OTHER_HINT, 4: Hint(HINT.calls, 2)}]
    engine = serve_calling([Case(name, hints=hints[i % 3]) for i, name in enumerate(names)], method)
    assert assert_profiled(engine) > len(names)
