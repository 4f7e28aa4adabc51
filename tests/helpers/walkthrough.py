"""The request that docs/method.md follows, and its tables: what the engine, the drafters and a wave really do with it.

The target and the sidecar answer from a script, and a tokenizer of whole words keeps the tokens readable. All else is
the product's own code.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

from helpers import scripted
from oospec_async.completion import Completion
from oospec_async.decoding.drafters import DRAFTERS, needs_of
from oospec_async.decoding.drafters.needs import HINTS
from oospec_async.decoding.memory import Memory, Recollection
from oospec_async.decoding.tree import Candidate, VerifyCurve, build_tree
from oospec_async.events import Event
from oospec_async.hints import encode_hint
from oospec_async.request import Message, Request, Tool
from oospec_async.sidecar.questions import prefix
from oospec_async.sidecar.value_masks import ValueMasks
from oospec_async.sidecar.wave import Progress, Sidecar, Wave
from oospec_async.testing import END, MessagePrompts, ScriptedSidecar, ScriptedTarget, scripted_engine, view_after

FORECAST = Tool(
    name="get_forecast",
    description="Weather forecast for a place.",
    parameters={
        "type": "object",
        "properties": {
            "place": {"type": "string"},
            "days": {"type": "integer", "description": "How many days"},
            "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
        },
        "required": ["place", "days"],
    },
)
REMINDER = Tool(
    name="set_reminder",
    description="Set a reminder.",
    parameters={
        "type": "object",
        "properties": {"text": {"type": "string"}, "at": {"type": "string"}},
        "required": ["text", "at"],
    },
)
REQUEST = Request(
    id="summit",
    messages=(
        Message(role="user", content="It is Thursday. Will it rain on the summit of Mount Ulriken until Sunday?"),
    ),
    tools=(FORECAST, REMINDER),
)
PACE = 3  # forwards of the sidecar that end within one of the target


def written(place: str, days: int) -> str:
    """The call as the target writes it."""
    value = {"name": FORECAST.name, "arguments": {"place": place, "days": days, "unit": "celsius"}}
    return f"<tool_call>\n{json.dumps(value)}\n</tool_call>"


CALL = written("summit of Mount Ulriken", 4)
EARLIER = written("Lake Garda", 4)
PERFECT = {
    "call 1 =": " get_forecast\n",
    "call 2 =": " none\n",
    "get_forecast: place =": ' "summit of Mount Ulriken"\n',
    "get_forecast: days =": " 4\n",
    "get_forecast: unit =": ' "celsius"\n',
}
ANSWERS = PERFECT | {"get_forecast: days =": " 3\n"}  # what the sidecar says


class WordCodec:
    """A token is a word or a run of punctuation, with the space before it."""

    _WORDS = re.compile(r"<[^<>\s]+>|\n| ?\w+| ?[^\w\s<]+|<| ")

    def __init__(self) -> None:
        self._pieces = ["<end>", "<end>", "<end>"]  # the ends of the scripted target and of the scripted sidecar
        self._ids: dict[str, int] = {}

    def encode(self, text: str) -> list[int]:
        pieces: list[str] = self._WORDS.findall(text)
        for piece in pieces:
            if piece not in self._ids:
                self._ids[piece] = len(self._pieces)
                self._pieces.append(piece)
        return [self._ids[piece] for piece in pieces]

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(self._pieces[token] if token < len(self._pieces) else "" for token in ids)


PROMPT = f"user: {REQUEST.messages[-1].content}\nassistant:\n"


class _Prompts(MessagePrompts):
    def ids(self, request: Request) -> list[int]:
        return self._codec.encode(PROMPT)


class _SidecarModel(scripted.ScriptedModel):
    def __init__(self, answers: Mapping[str, str], codec: WordCodec) -> None:
        super().__init__({})
        for question, answer in answers.items():
            stem, name, equals = question.rsplit(" ", 2)
            asked = [*codec.encode(stem), *codec.encode(f" {name} {equals}")]
            self._script[question] = asked, [*codec.encode(answer), scripted.END]


def wave(answers: Mapping[str, str] = ANSWERS) -> list[Progress]:
    """The forwards of the wave."""
    codec = WordCodec()
    codec.encode(prefix(REQUEST))
    model = _SidecarModel(answers, codec)
    masks = ValueMasks(codec, scripted.VOCABULARY)
    return list(Wave(Sidecar(model, codec, masks, frozenset({scripted.END})), REQUEST).run())  # type: ignore[arg-type]


def wave_rows() -> list[str]:
    """Number of the forward, what it extends, tokens fed, and the version and payload that it published."""
    rows = []
    for number, step in enumerate(wave()):
        what = "the prefix" if step.kind == "prefill" else f"{step.branches} questions"
        told = ("", "") if step.hint is None else (str(step.hint.version), _code(encode_hint(step.hint).decode()))
        rows.append(_row(number, what, step.tokens, *told))
    return rows


def serve(
    method: str, answers: Mapping[str, str] = ANSWERS, pace: int = PACE
) -> tuple[Completion, list[Event], WordCodec]:
    """Serve the request, with the wave beside it: the prefills take equally long, then ``pace`` of its forwards end
    within each of the target's.
    """
    codec, sidecar = WordCodec(), ScriptedSidecar()
    target = ScriptedTarget(CALL, codec=codec)
    hints = [step.hint for step in wave(answers)]

    def publish(forward: int) -> None:
        for hint in hints[forward * pace + 1 : (forward + 1) * pace + 1]:
            if hint is not None:
                sidecar.publish(hint)

    if HINTS in needs_of(method):
        target.before_prefill = lambda: publish(0)
        target.before_verify = publish
    engine = scripted_engine(target, sidecar, codec=codec, prompts=_Prompts(codec), method=method)
    completion = asyncio.run(engine.generate(REQUEST))
    return completion, engine.recorder.events, codec


def round_rows(method: str) -> list[str]:
    """Round, newest polled version, drafted, accepted, drafters of what was accepted, and the committed text."""
    completion, events, codec = serve(method)
    rows = [_row("prefill", "", "", "", "", _code(codec.decode(completion.tokens[:1])))]
    version = "none"
    for event in events:
        if event.name == "poll":
            version = str(event.data["version"])
        elif event.name == "verify":
            data = event.data
            tokens = completion.tokens[data["position"] : data["position"] + data["committed"]]
            sources = ", ".join(dict.fromkeys(source for source in data["sources"] if source))
            rows.append(
                _row(len(rows), version, data["tokens"] - 1, data["accepted"], sources, _code(codec.decode(tokens)))
            )
    return rows


RUNS = {
    "`ar`": ("ar", ANSWERS, PACE),
    "`pld`": ("pld", ANSWERS, PACE),
    "`toolspec`": ("toolspec", ANSWERS, PACE),
    "`oospec`": ("oospec", ANSWERS, PACE),
    "`oospec`, whole hint before the first round": ("oospec", ANSWERS, 99),
    "`oospec`, the same with every value right": ("oospec", PERFECT, 99),
}


def method_rows() -> list[str]:
    """Rounds, tokens drafted and accepted, and what forwards cost by the default curve, in forwards of one token."""
    rows = []
    for name, (method, answers, pace) in RUNS.items():
        completion, events, _ = serve(method, answers, pace)
        cost = sum(VerifyCurve().seconds(event.data["tokens"]) for event in events if event.name == "verify")
        metrics = completion.metrics
        rows.append(_row(name, metrics.rounds, metrics.drafted, metrics.accepted, f"{cost:.1f}"))
    return rows


def drafter_rows(drafter: str, after: str, *, warm: bool = False) -> list[str]:
    """The candidates of a drafter after a text: chance of the first token, length, text.

    The hint is the wave's last. ``warm``: ``EARLIER`` was served before.
    """
    codec, memory = WordCodec(), Memory()
    if warm:
        tokens = [*codec.encode(EARLIER), END]
        memory.learn(tokens, None, Recollection(successors={a: [b] for a, b in pairwise(tokens)}), None)
    hint = next(step.hint for step in reversed(wave()) if step.hint is not None)
    view = view_after(
        after,
        hint=hint,
        tools=REQUEST.tools,
        prompt=PROMPT,
        codec=codec,
        dialects=MessagePrompts.dialects,
        memory=memory.recall(None),
    )
    found = sorted(DRAFTERS[drafter].propose(view), key=lambda candidate: -candidate.prior)
    return [_row(f"{c.prior:.2f}", len(c.tokens), _code(codec.decode(c.tokens))) for c in found]


def after(text: str) -> str:
    """``CALL`` up to and with a text."""
    return CALL[: CALL.index(text) + len(text)]


def budget_rows(prior: float, survival: float, sizes: Sequence[int]) -> list[str]:
    """Of a chain cut to a size: expected tokens of a round, its cost, and their ratio."""
    rows = []
    for size in sizes:
        expected = 1 + sum(prior * survival**depth for depth in range(size))
        cost = VerifyCurve().seconds(size + 1)
        rows.append(_row(size, f"{expected:.2f}", f"{cost:.2f}", f"{expected / cost:.2f}"))
    return rows


def kept(prior: float, survival: float) -> int:
    """How many tokens of a long chain the tree takes."""
    chain = Candidate(tuple(range(1, 49)), "x", prior, survival)
    return len(build_tree(0, [chain], curve=VerifyCurve(), max_nodes=48, max_depth=99)) - 1


def _row(*cells: object) -> str:
    return "| " + " | ".join(map(str, cells)) + " |"


def _code(text: str) -> str:
    """Text as inline code, its line breaks visible and its outer spaces kept."""
    shown = text.replace("\n", "⏎")
    fence = "`" * (1 + max(map(len, re.findall("`+", shown)), default=0))
    padded = f" {shown} " if shown[0] in " `" or shown[-1] in " `" else shown
    return f"{fence}{padded}{fence}"
