"""What the host costs between two forwards of the target: `python tools/bench_host.py [--json]`.

The real engine, loop and executor thread run on a stand-in for the target whose forwards take no time, so all that is
left is ours: committing, polling, drafting, and handing over between the loop and the thread. The figures are of the
machine that this runs on.
"""

from __future__ import annotations

import asyncio
import gc
import json
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import click
import numpy as np
from benchmark.methods.bounds import KnownHint
from rich.console import Console
from rich.table import Table

from oospec_async.decoding.step import Step
from oospec_async.decoding.text import Codec
from oospec_async.decoding.tree import VerifyCurve
from oospec_async.dialects.dialect import NAMED, Dialect
from oospec_async.dialects.render import render_call
from oospec_async.errors import OospecError
from oospec_async.hints import CallHint, Hint
from oospec_async.request import Json, Message, Request, Tool
from oospec_async.runtime.channel import CHANNEL_SIZE, Address, HintReader, HintWriter
from oospec_async.runtime.devices import Device
from oospec_async.runtime.engine import Engine
from oospec_async.runtime.executor import ThreadExecutor
from oospec_async.runtime.parts import Parts
from oospec_async.runtime.recorder import Event

METHODS = ("toolspec", "oospec")
_POLLS = 20_000
_SWITCHES = 2_000
_BUSY = 500_000  # ns
_LIMITS = {"median": 1.0, "p99": 5.0}  # ms between rounds that we aim for
_POLL_LIMIT = 5.0  # µs


def _tool(name: str, description: str, required: int, **properties: Json) -> Tool:
    schema = {"type": "object", "properties": properties, "required": list(properties)[:required]}
    return Tool(name=name, description=description, parameters=schema)


_TEXT: Json = {"type": "string"}
TOOLS = (
    _tool(
        "book_table",
        "Book a table in a restaurant.",
        3,
        restaurant=_TEXT,
        people={"type": "integer"},
        time=_TEXT,
        seating={"type": "string", "enum": ["inside", "terrace", "bar"]},
        note=_TEXT,
    ),
    _tool("play_music", "Play an artist.", 1, artist=_TEXT, shuffle={"type": "boolean"}, volume={"type": "integer"}),
    _tool("send_message", "Send a message to somebody.", 2, to=_TEXT, text=_TEXT, urgent={"type": "boolean"}),
    _tool("track_parcel", "Where a parcel is.", 1, number=_TEXT, carrier={"type": "string", "enum": ["DHL", "UPS"]}),
)
_PLACES = ("Chez Amélie", "The Anchor", "Osteria Blu", "Zum Löwen", "Noodle House 88", "Casa Rosa", "Kinoko")
_PEOPLE = ("Mira", "Tomasz", "Aunt Rosie", "the landlord", "Dr. Okafor", "my sister")
_SAYINGS = ("I am ten minutes late", "the key is under the mat", "call me after lunch, please", "yes, both of us")


def calls() -> Iterator[tuple[str, dict[str, Json]]]:
    """Calls without an end, no two in a row of the same function."""
    n = 0
    while True:
        place, person, saying = _PLACES[n % 7], _PEOPLE[n % 6], _SAYINGS[n % 4]
        evening = f"2026-05-{n % 28 + 1:02}T19:30"
        yield "book_table", {"restaurant": place, "people": 2 + n % 6, "time": evening, "seating": "terrace"}
        yield "send_message", {"to": person, "text": f"{saying}, {person}", "urgent": n % 3 == 0}
        yield "track_parcel", {"number": f"JD{7919 * (n + 11) % 1000003:07}-{n % 10}", "carrier": "DHL"}
        yield "play_music", {"artist": f"{person} and the {place}s", "shuffle": True, "volume": 10 * (n % 10)}
        n += 1


@dataclass(frozen=True)
class Case:
    """A request, the output that the target will give, and the hint that the sidecar will."""

    request: Request
    prompt: list[int]
    output: list[int]
    hint: Hint


def cases(codec: Codec, count: int) -> list[Case]:
    """Every other output is in the hermes dialect, the others are fenced; every third hint has one value wrong."""
    made = []
    tools = "\n".join(json.dumps(tool.as_openai()) for tool in TOOLS)
    for n, (name, arguments) in zip(range(count), calls(), strict=False):
        dialect = NAMED["hermes" if n % 2 == 0 else "fenced"]
        text = f"Please {name.replace('_', ' ')}: {', '.join(str(value) for value in arguments.values())}"
        request = Request(messages=(Message(role="user", content=text),), tools=TOOLS, id=str(n))
        hinted = dict(arguments)
        if n % 3 == 2:
            first = next(iter(hinted))
            hinted[first] = f"not {hinted[first]}"
        output = [*codec.encode(render_call(dialect, name, arguments)), -1]
        made.append(Case(request, codec.encode(f"{tools}\n{text}\n"), output, Hint((CallHint(name, hinted),))))
    return made


class ScriptedTarget:
    """Gives the outputs of ``cases`` in turn. Its forwards cost what it takes to look tokens up."""

    context = 1 << 20
    vocabulary = 1 << 20

    def __init__(self, given: Sequence[Case], end: int) -> None:
        self.end_tokens = frozenset({end})
        self._outputs = iter([[*case.output[:-1], end] for case in given])
        self._output: list[int] = []
        self._committed = 0
        self._random = np.random.default_rng(0)

    def prefill(self, prompt: Sequence[int], *, reuse: bool = False) -> Step:
        start = time.monotonic_ns()
        self._output, self._committed = next(self._outputs), 0
        state = self._random.standard_normal(896, dtype=np.float32)
        return self._step([0], start, state)

    def verify(self, path: Sequence[int], tokens: Sequence[int], parents: Sequence[int]) -> Step:
        start = time.monotonic_ns()
        self._committed += len(path)
        places = [self._committed]  # of each node: how much of the output is said with it; -1 after a wrong token
        for token, parent in zip(tokens[1:], parents[1:], strict=True):
            place = places[parent]
            places.append(place + 1 if place >= 0 and self._at(place) == token else -1)
        return self._step([place - self._committed if place >= 0 else -1 for place in places], start, None)

    def calibrate(self) -> VerifyCurve:
        return VerifyCurve()

    def _at(self, place: int) -> int:
        return self._output[place] if place < len(self._output) else 0

    def _step(self, ahead: list[int], start: int, state: Any) -> Step:
        predicted = [self._at(self._committed + n) if n >= 0 else 0 for n in ahead]
        successors = [[token, *range(1, 8)] for token in predicted]
        return Step(predicted, successors, [1.0] * len(ahead), start, time.monotonic_ns(), state)


class GivenPrompts:
    dialects: Sequence[Dialect] = (NAMED["hermes"], NAMED["fenced"])

    def __init__(self, given: Sequence[Case]) -> None:
        self._prompts = {case.request.id: case.prompt for case in given}

    def ids(self, request: Request) -> list[int]:
        return self._prompts[request.id]


def tokenizer() -> tuple[Codec, str, int]:
    """The default target's tokenizer if it lies on this disk, else a small one; its name; its end token."""
    from oospec_async.models.codec import TokenizerCodec
    from oospec_async.models.fetch import DEFAULT_TARGET, resolve

    try:
        path = resolve(DEFAULT_TARGET, offline=True).path
    except OospecError:
        return _small_tokenizer(), "a byte-level BPE of 600 tokens, made here", 0
    import transformers

    loaded = transformers.AutoTokenizer.from_pretrained(path, local_files_only=True)
    return TokenizerCodec(loaded), DEFAULT_TARGET, int(loaded.eos_token_id)


def _small_tokenizer() -> Codec:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer, bpe.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=600,
        special_tokens=["<|end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    texts = [json.dumps(call, ensure_ascii=False) for call, _ in zip(calls(), range(40), strict=False)]
    bpe.train_from_iterator([*texts, *(tool.model_dump_json() for tool in TOOLS)], trainer)

    class Small:
        def encode(self, text: str) -> list[int]:
            ids: list[int] = bpe.encode(text, add_special_tokens=False).ids
            return ids

        def decode(self, ids: Sequence[int]) -> str:
            text: str = bpe.decode(list(ids), skip_special_tokens=False)
            return text

    return Small()


Samples = dict[str, list[float]]  # ms, by phase


async def measure(engine: Engine, given: Sequence[Case]) -> Samples:
    """Serve every request and read the phases off the recorded events.

    ``between`` runs from a forward's end to the next one's start, both on the executor's thread. ``commit`` and
    ``draft`` (the poll included) are its known parts; ``hand-over`` is the rest: thread switches, loop and records.
    """
    for case in given:
        await engine.generate(case.request)
    samples: Samples = {"between": [], "commit": [], "draft": [], "hand-over": []}
    by_request: dict[str, list[Event]] = {}
    for event in engine.recorder.events:
        if event.track in ("target", "host"):
            by_request.setdefault(event.request, []).append(event)
    for events in by_request.values():
        events.sort(key=lambda event: (event.start_ns, event.end_ns))
        forwards = [index for index, event in enumerate(events) if event.track == "target"]
        for this, following in pairwise(forwards):
            between = (events[following].start_ns - events[this].end_ns) / 1e6
            parts = {event.name: event.seconds * 1e3 for event in events[this + 1 : following]}
            samples["between"].append(between)
            samples["commit"].append(parts["commit"])
            samples["draft"].append(parts["draft"])
            samples["hand-over"].append(between - parts["commit"] - parts["draft"])
    return samples


def measure_poll() -> Samples:
    """Times of single polls, in µs, with nothing new and with a new message."""
    block = memoryview(bytearray(CHANNEL_SIZE))
    reader, writer = HintReader(block), HintWriter(block)
    reader.expect(Address(1), TOOLS)
    name, arguments = next(calls())
    hint = Hint((CallHint(name, arguments),))
    nothing, message = [], []
    for _ in range(_POLLS):
        start = time.perf_counter_ns()
        reader.poll()
        nothing.append((time.perf_counter_ns() - start) / 1e3)
    for _ in range(_POLLS // 10):
        writer.publish(Address(1), hint, 0)
        start = time.perf_counter_ns()
        reader.poll()
        message.append((time.perf_counter_ns() - start) / 1e3)
    return {"nothing new": nothing, "new message": message}


async def measure_switch(executor: ThreadExecutor) -> list[float]:
    """Times of calls that do nothing, in ms: what two thread switches take by themselves.

    Between them the loop's thread is as busy as a draft keeps it. Where other programs occupy the cores, the thread of
    the executor waits for one, and the highest times here say how much of the highest times of ``hand-over`` that is.
    """
    times = []
    for _ in range(_SWITCHES):
        busy = time.perf_counter_ns() + _BUSY
        while time.perf_counter_ns() < busy:
            pass
        start = time.perf_counter_ns()
        await executor.run(time.monotonic_ns)
        times.append((time.perf_counter_ns() - start) / 1e6)
    return times


def summary(samples: Samples) -> dict[str, dict[str, float]]:
    found = {}
    for name, values in samples.items():
        ordered = sorted(values)
        p99 = ordered[min(len(ordered) - 1, round(0.99 * (len(ordered) - 1)))]
        figures = {"median": statistics.median(ordered), "p99": p99, "max": ordered[-1]}
        found[name] = {key: round(value, 4) for key, value in figures.items()}
    return found


def run(count: int) -> dict[str, Json]:
    """All figures. ``count``: requests per method."""
    loop_factory, loop_name = _loop()
    codec, name, end = tokenizer()
    given = cases(codec, count)
    methods = {}
    for method in METHODS:
        executor = ThreadExecutor(Device("cpu"))
        sidecar = KnownHint({case.request.id: case.hint for case in given})
        target = ScriptedTarget(given, end)
        engine = Engine(
            Parts(
                target=target,
                executor=executor,
                prompts=GivenPrompts(given),
                codec=codec,
                curve=VerifyCurve(),
                sidecar=sidecar,
                method=method,
                record=True,
            )
        )
        gc.collect()
        with asyncio.Runner(loop_factory=loop_factory) as runner:
            samples = runner.run(measure(engine, given))
            samples["switch alone"] = runner.run(measure_switch(executor))
        executor.close()
        rounds = len(samples["between"])
        tokens = sum(len(case.output) for case in given) - len(given)  # those of the prefills aside
        methods[method] = {
            "rounds": rounds,
            "tokens_per_round": round(tokens / rounds, 2),
            "ms": summary(samples),
        }
    return {
        "requests": count,
        "mean_output_tokens": round(statistics.mean(len(case.output) for case in given), 1),
        "tokenizer": name,
        "loop": loop_name,
        "machine": f"{platform.machine()}, Python {platform.python_version()}",
        "methods": methods,
        "poll_us": summary(measure_poll()),
    }


def _loop() -> tuple[Callable[[], asyncio.AbstractEventLoop], str]:
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop, "asyncio"
    return uvloop.new_event_loop, "uvloop"


def show(figures: dict[str, Json], console: Console) -> None:
    table = Table(title="Host time between two forwards of the target")
    for heading in ("method", "phase", "median", "p99", "max"):
        table.add_column(heading, justify="left" if heading in ("method", "phase") else "right")
    for method, found in figures["methods"].items():
        for phase, times in found["ms"].items():
            table.add_row(method, phase, *(f"{times[key]:.3f} ms" for key in ("median", "p99", "max")))
        table.add_section()
    for what, times in figures["poll_us"].items():
        table.add_row("poll", what, *(f"{times[key]:.2f} µs" for key in ("median", "p99", "max")))
    console.print(table)
    console.print(
        f"{figures['requests']} requests a method, outputs of {figures['mean_output_tokens']} tokens on average, "
        f"tokenizer: {figures['tokenizer']}; {figures['loop']}, {figures['machine']}"
    )
    for method, found in figures["methods"].items():
        console.print(f"{method}: {found['rounds']} rounds, {found['tokens_per_round']} tokens a round")
        for key, limit in _LIMITS.items():
            if found["ms"]["between"][key] > limit:
                console.print(f"{method}: {key} between rounds is over {limit} ms")
    if figures["poll_us"]["nothing new"]["median"] > _POLL_LIMIT:
        console.print(f"a poll that finds nothing takes over {_POLL_LIMIT} µs")


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--requests", "count", default=400, show_default=True, type=click.IntRange(min=1), help="For each method."
)
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
def main(count: int, as_json: bool) -> None:
    """Measure what the host costs between two forwards of the target, without a model."""
    figures = run(count)
    if as_json:
        json.dump(figures, sys.stdout, indent=2, ensure_ascii=False)
        print()
    else:
        show(figures, Console())


if __name__ == "__main__":
    main()
