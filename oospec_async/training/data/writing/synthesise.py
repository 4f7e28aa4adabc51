"""Write user messages for drawn functions and values; those that do not say every value are marked as such."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from rich.progress import Progress

from oospec_async.devices import claim, default_devices, parse_devices
from oospec_async.errors import OospecError
from oospec_async.files.journal import Journal
from oospec_async.request import Json
from oospec_async.training.data.sources import read_evaluation
from oospec_async.training.data.writing.phrases import Phrases
from oospec_async.training.data.writing.seal_pool import pool_files, read_pool
from oospec_async.training.data.writing.tasks import Drawing, Message, Task, mentions
from oospec_async.training.records import Object
from oospec_async.training.stage import Growing, check_output

BATCH = 24  # messages that are written at a time


class Writes(Protocol):
    def write(self, tasks: Sequence[str], seed: int) -> Sequence[Message]: ...


WRITERS: Mapping[str, Callable[[], Writes]] = {"phrases": Phrases}  # those that need no model, by name


@dataclass(frozen=True)
class SynthesiseOptions:
    """``writer``: a name in ``WRITERS``, a directory, or a Hugging Face id. ``count``: messages in the file at the end,
    those to drop too.
    """

    writer: str
    seal_tools: Path
    out: Path
    count: int
    evaluation: Sequence[str] = ()
    seed: int = 0
    devices: str | None = None
    dtype: str = "bfloat16"


def batch(drawing: Drawing, seed: int, number: int) -> list[Task]:
    """The tasks of a batch, the shortest first, whatever batches there were before."""
    rng = random.Random(f"synthesise:{seed}:{number}")
    return sorted((drawing.draw(rng) for _ in range(BATCH)), key=lambda task: len(task.text))


def message_row(task: Task, written: Message) -> Object:
    """A line of the output; ``ok``: the message is whole, is one line, and says every value."""
    ok = written.finished and "\n" not in written.text and mentions(written.text, task.values)
    row: Object = {"ok": ok, "text": written.text, "field": task.field}
    return {**row, "function": task.function, "values": list(task.values)}


def write_batches(
    drawing: Drawing, writer: Writes, journal: Journal[Object], count: int, seed: int, bar: Progress
) -> None:
    """Go on from where the file ends until it has ``count`` lines; the file does not depend on interruptions."""
    task = bar.add_task("messages", total=count, completed=len(journal.rows))
    while len(journal.rows) < count:
        number, done = divmod(len(journal.rows), BATCH)
        tasks = batch(drawing, seed, number)
        messages = writer.write([each.text for each in tasks], seed * 100_000 + number)
        rows = [message_row(each, message) for each, message in zip(tasks, messages, strict=True)]
        for row in rows[done : done + count - len(journal.rows)]:
            journal.add(row)
        kept = sum(row["ok"] for row in journal.rows)
        bar.update(task, completed=len(journal.rows), description=f"messages ({kept} say all)")


def synthesise(options: SynthesiseOptions) -> list[str]:
    """Write the file; lines that say what was done. Raises OospecError; what was written before stays."""
    sources = pool_files(options.seal_tools)
    check_output(options.out, *sources)
    known, files = read_evaluation(options.evaluation)
    drawing = Drawing(read_pool(options.seal_tools), known)
    if not len(drawing):
        raise OospecError(f"--seal-tools {options.seal_tools}: no function can be drawn that no --eval set has")
    said: dict[str, Json] = {"writer": options.writer, "seed": options.seed}
    if options.writer not in WRITERS:
        said["dtype"] = options.dtype

    def counts(rows: Sequence[Object]) -> dict[str, Json]:
        kept = sum(row["ok"] for row in rows)
        return {"messages": len(rows), "that say every value": kept, "functions": len(drawing)}

    fields, more = ("ok", "text", "function", "values"), {"count": options.count, "eval": list(options.evaluation)}
    output = Growing(options.out, "synthesise", said, [*sources, *files], fields, counts, more)
    with output.opened() as (journal, bar):
        if len(journal.rows) < options.count:
            writer = WRITERS[options.writer]() if options.writer in WRITERS else _model(options, bar)
            write_batches(drawing, writer, journal, options.count, options.seed, bar)
    messages, kept, functions = counts(journal.rows).values()
    return [f"{kept} of {messages} messages say every value; {functions} functions were drawn from"]


def _model(options: SynthesiseOptions, bar: Progress) -> Writes:
    from oospec_async.training.data.writing.writer import Writer
    from oospec_async.weights.fetch import resolve
    from oospec_async.weights.load import check_device, load

    device, _ = parse_devices(options.devices or default_devices())
    check_device(device.torch_name)
    files = resolve(options.writer)
    bar.console.print(f"writer: {files.line}", style="dim", markup=False, soft_wrap=True)
    claim(device)
    loaded = load(files.path, name=options.writer, dtype=options.dtype, device=device.torch_name)
    return Writer(loaded.model, loaded.tokenizer, options.writer)
