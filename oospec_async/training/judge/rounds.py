"""What guesses are worth to a target: rounds of its recorded outputs without a hint, with the guess, with the answer.

The real drafters run over every output, as in a profile; there is no model here, so nothing is recycled and history is
found by text alone. A hint counts as there from the first round on.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from oospec_async.decoding.drafters import drafters_of
from oospec_async.decoding.memory import Memory
from oospec_async.decoding.state import Setting
from oospec_async.decoding.tree import VerifyCurve
from oospec_async.decoding.verify import Limits
from oospec_async.dialects.wrapping import observed_dialect
from oospec_async.errors import OospecError
from oospec_async.hints import CallHint, Hint
from oospec_async.recording.profile import Decode, profiles
from oospec_async.request import Request
from oospec_async.trace import Profile
from oospec_async.training.judge.answers import read_guesses, read_said
from oospec_async.training.stage import progress, read_asked
from oospec_async.training.teach.teacher import key_of


@dataclass(frozen=True)
class Saving:
    """Sums over outputs. ``saved``: of the rounds that a perfect hint saves, the share that the guesses save."""

    outputs: int
    tokens: int
    without: int
    guessed: int
    perfect: int

    @property
    def saved(self) -> float | None:
        most = self.without - self.perfect
        return (self.without - self.guessed) / most if most > 0 else None


def savings(guesses: Path, requests: Path, calls: Path, target: str) -> Saving:
    """Over the outputs in ``calls`` of the model ``target``. Raises OospecError naming file and field."""
    from oospec_async.target.codec import TokenizerCodec
    from oospec_async.target.prompts import Prompts
    from oospec_async.weights.fetch import resolve
    from oospec_async.weights.load import load_tokenizer

    guessed = read_guesses(guesses)
    # A server that reads the calls itself ends with "tool_calls", and does not give their text.
    said = {key: row for key, row in read_said(calls).items() if row.finish == "stop"}
    known = [request for request in read_asked(requests) if key_of(request) in guessed and key_of(request) in said]
    if not known:
        raise OospecError(f"{calls}: no finished output of a request in {requests} that has a guess in {guesses}")
    tokenizer = load_tokenizer(resolve(target).path, target)
    end = tokenizer.eos_token_id
    if end is None:
        raise OospecError(f"{target}: its tokenizer names no end token; name the target that wrote {calls}")
    codec, prompts = TokenizerCodec(tokenizer), Prompts(tokenizer, target)
    memory, counts = Memory(), [0, 0, 0, 0]
    with progress() as bar:
        for request in bar.track(known, description="outputs"):
            answer = said[key_of(request)]
            output = [*codec.encode(answer.text), end]
            setting = Setting(
                prompt=prompts.ids(request),
                tools=request.tools,
                limits=Limits(len(output) + 1, frozenset({end}), request.stop),
                codec=codec,
                dialects=prompts.dialects,
                drafters=drafters_of("oospec"),
                memory=memory.recall(None),
                curve=VerifyCurve(),
                vocabulary=len(tokenizer),
            )
            hints = [_hint(guessed[key_of(request)], request), _hint(answer.made(request) or (), request)]
            found = profiles(Decode(setting, output, [()] * len(output)), [hint for hint in hints if hint is not None])
            rounds = [rounds_of(profile) for profile in found]
            guess = rounds[1] if hints[0] is not None else rounds[0]
            perfect = rounds[-1] if hints[1] is not None else rounds[0]
            counts = [a + b for a, b in zip(counts, (len(output), rounds[0], guess, perfect), strict=True)]
            dialect = observed_dialect(answer.text, prompts.dialects, thinking=False)
            memory.learn(output, None, setting.memory, dialect)
    return Saving(len(known), *counts)


def print_saving(saving: Saving, as_json: bool) -> None:
    """A line on stdout, or JSON."""
    if as_json:
        print(json.dumps(asdict(saving) | {"saved": saving.saved}))
        return
    share = "" if saving.saved is None else f": {saving.saved:.0%} of what a perfect hint saves"
    print(
        f"{saving.tokens} tokens in {saving.outputs} outputs: {saving.without} rounds without a hint, "
        f"{saving.guessed} with the guesses, {saving.perfect} with a perfect hint{share}"
    )


def rounds_of(profile: Profile) -> int:
    """Rounds that a decode takes after its prefill."""
    position, rounds = 0, 0
    while position < len(profile.accepted):
        position += profile.accepted[position] + 1
        rounds += 1
    return rounds


def _hint(calls: Sequence[CallHint], request: Request) -> Hint | None:
    known = tuple(call for call in calls if request.tool(call.function) is not None)
    return Hint(known) if known else None
