"""Model a trace of a Qwen3 target: `python -m tools.model_trace traces/qwen3-14b.json --tokenizer DIR --data DIR`.

For studies without a GPU. Outputs are the gold calls of BFCL as Qwen3's chat template writes them; profiles come from
the real drafters on these outputs; hints are gold calls, wrong as often as a published sidecar, told as the real wave
tells them; times are a roofline's. The trace says so, part by part. The same seed gives the same file.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click
import torch
from rich.console import Console
from rich.progress import track

from oospec_async.console import options
from oospec_async.console.command import run_command
from oospec_async.console.options import COUNT, PATH
from oospec_async.decoding.drafters import drafters_of
from oospec_async.decoding.memory import Memory
from oospec_async.decoding.state import Setting
from oospec_async.decoding.tree import VerifyCurve
from oospec_async.decoding.verify import Limits
from oospec_async.dialects.wrapping import observed_dialect
from oospec_async.errors import OospecError
from oospec_async.files.writing import check_outputs
from oospec_async.hints import Hint, decode_hint, encode_hint
from oospec_async.recording.profile import Decode, profiles
from oospec_async.trace import Publish, RequestTrace, Timing, Trace, Wave, write_trace
from oospec_async.training.notes import Notes
from oospec_async.weights.load import load_tokenizer
from tools.model_shapes import SHAPES
from tools.trace_models import times
from tools.trace_models.guess import Guess, corrupted
from tools.trace_models.labels import Modelled, provenance
from tools.trace_models.roofline import A100, Roofline
from tools.trace_models.rows import Case, Writer, read_cases
from tools.trace_models.waves import Waves

METHOD = "oospec"
CATEGORIES = ("simple_python", "multiple", "parallel")
LONGEST = 512  # output tokens
SIDECAR = SHAPES["Qwen3-0.6B"]


@dataclass(frozen=True)
class Models:
    """What is modelled, and the tokenizer of both models."""

    writer: Writer
    waves: Waves
    target: Roofline
    sidecar: Roofline
    curve: VerifyCurve


def model_request(models: Models, case: Case, guess: Guess, memory: Memory, timing: Timing, seed: str) -> RequestTrace:
    """One request, served after those that ``memory`` knows; its samples are added to ``timing``."""
    request = case.request
    forwards = models.waves.run(request, guess, random.Random(f"{seed} answers"))
    clock = times.Clock(models.target, models.sidecar, random.Random(f"{seed} times"))
    before, wave = clock.before(), clock.wave(forwards)
    clock.sample(timing, request.id, len(case.prompt), len(case.output), wave)
    told = [forward.hint for forward in forwards if forward.hint is not None]
    payloads = [encode_hint(hint) for hint in told]
    read = [decode_hint(p, hint.version, request.tools) for p, hint in zip(payloads, told, strict=True)]
    hints = [hint for hint in read if hint is not None]
    assert len(hints) == len(told), "the wave told a hint that its reader does not understand"
    recollection = memory.recall(None)
    dialects = models.writer.prompts.dialects
    setting = Setting(
        prompt=case.prompt,
        tools=request.tools,
        limits=Limits(LONGEST, frozenset({models.writer.end_token})),
        codec=models.writer.codec,
        dialects=dialects,
        drafters=drafters_of(METHOD),
        memory=recollection,
        curve=models.curve,
        vocabulary=models.target.shape.vocabulary,
    )
    profiled = profiles(Decode(setting, case.output, [()] * len(case.output)), hints)
    text = models.writer.codec.decode(case.output[:-1])
    memory.learn(case.output, None, recollection, observed_dialect(text, dialects, thinking=False))
    return RequestTrace(
        request=request.id,
        method=METHOD,
        prompt_tokens=len(case.prompt),
        output_tokens=len(case.output),
        functions=len(request.tools),
        slots=sum(len(tool.slots) for tool in request.tools),
        payload_bytes=len(payloads[-1]) if payloads else 0,
        before=before,
        publishes=_publishes(wave, hints, payloads),
        wave=wave,
        rounds=[],
        profiles=profiled,
    )


def _publishes(wave: Wave, hints: Sequence[Hint], payloads: Sequence[bytes]) -> list[Publish]:
    at: dict[int, float] = {}
    now = wave.start
    for step in wave.steps:
        now += step.seconds
        if step.publishes is not None:
            at[step.publishes] = round(now, 7)
    return [
        Publish(seconds=at[h.version], version=h.version, ready=h.ready_slots, bytes=len(p))
        for h, p in zip(hints, payloads, strict=True)
    ]


def chosen_cases(data: Path, writer: Writer, limit: int, seed: int, notes: Notes) -> list[Case]:
    """``limit`` rows of every category, drawn and mixed by the seed. Raises OospecError if there are none."""
    cases: list[Case] = []
    for category in CATEGORIES:
        found = list(read_cases(data, category, writer, LONGEST, notes))
        cases += random.Random(f"{seed} {category}").sample(found, min(limit, len(found)))
    if not cases:
        reasons = "; ".join(notes.lines())
        raise OospecError(f"{data}: no row of {', '.join(CATEGORIES)} can be decoded: {reasons}")
    ids = [case.request.id for case in cases]
    if twice := next((id_ for id_ in ids if ids.count(id_) > 1), None):
        raise OospecError(f"{data}: id {twice!r} is used twice; ids must differ")
    random.Random(seed).shuffle(cases)
    return cases


@click.command()
@click.argument("out", type=PATH)
@click.option("--tokenizer", required=True, type=PATH, help="Directory of Qwen3's tokenizer.")
@click.option("--data", required=True, type=PATH, help="Directory of BFCL's files.")
@click.option("--target", "name", type=click.Choice(list(SHAPES)), default="Qwen3-14B", show_default=True)
@click.option("--limit", type=COUNT, default=50, show_default=True, help="Rows of every category.")
@options.seed
def command(out: Path, tokenizer: Path, data: Path, name: str, limit: int, seed: int) -> None:
    """Write a modelled trace to OUT."""
    err = Console(stderr=True)
    check_outputs([*data.glob("*.json*"), *data.glob("possible_answer/*")], {"OUT": out})
    torch.set_num_threads(1)
    writer = Writer(load_tokenizer(tokenizer, f"--tokenizer {tokenizer}"), str(tokenizer))
    shape, notes = SHAPES[name], Notes()
    target, sidecar = Roofline(shape, A100), Roofline(SIDECAR, A100)
    cases = chosen_cases(data, writer, limit, seed, notes)
    guesses = [corrupted(case.request, case.gold, random.Random(f"{seed} {case.request.id} errors")) for case in cases]
    models = Models(
        writer, Waves(writer.codec, shape.vocabulary, writer.end_token), target, sidecar, times.curve(target)
    )
    timing = Timing(target_prefill=[], target_verify=[], sidecar_prefill=[], sidecar_step=[], host=[])
    memory, requests = Memory(), []
    pairs = list(zip(cases, guesses, strict=True))
    for case, guess in track(pairs, "requests", console=err, transient=True):
        requests.append(model_request(models, case, guess, memory, timing, f"{seed} {case.request.id}"))
    timing.link.extend(times.link_samples(random.Random(f"{seed} link")))
    categories = [case.category for case in cases]
    modelled = Modelled(METHOD, target, sidecar, models.curve, categories, guesses, seed)
    write_trace(Trace(provenance=provenance(modelled, notes), timing=timing, requests=requests), out)
    for line in notes.lines():
        print(f"note: {line}", file=sys.stderr)
    print(f"{out}: {len(requests)} requests", file=sys.stderr)


def main(argv: Sequence[str] | None = None) -> int:
    """0: done, 2: bad input, which one line on stderr names, 130: interrupted."""
    return run_command(command, "python -m tools.model_trace", argv)


if __name__ == "__main__":
    sys.exit(main())
