"""What a run looks like on a terminal: notes and calls as they come, then a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from oospec_async.commands.summary import Summary
from oospec_async.completion import Chunk, Completion
from oospec_async.console.command import visible
from oospec_async.request import Request
from oospec_async.timeline.colours import DRAFTER_COLOURS

COUNTED = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
"""Columns of a progress bar over so many of so many."""


def note(err: Console, line: str) -> None:
    """A line about the work, on stderr."""
    err.print(visible(line), style="dim", soft_wrap=True, markup=False, highlight=False)


def print_legend(console: Console, sources: Sequence[str]) -> None:
    legend = Text("tokens drafted by ")
    for index, source in enumerate(sources):
        legend.append(", " if index else "")
        legend.append(source, style=_style(source))
    console.print(legend.append("; plain: by the target itself"))


def print_request(console: Console, request: Request) -> None:
    content = request.messages[-1].content
    about = content if isinstance(content, str) else ""
    console.print()
    console.print(Text(request.id, style="bold").append(f"  {about}", style="not bold dim"), soft_wrap=False)


def print_method(console: Console, method: str) -> None:
    console.print(Text(f"{method}:", style="italic"))


def print_chunk(console: Console, chunk: Chunk) -> None:
    text = Text()
    for piece, source in zip(chunk.pieces, chunk.sources, strict=True):
        text.append(piece, style=_style(source))
    console.print(text, end="", soft_wrap=True)


def print_completion(console: Console, completion: Completion) -> None:
    metrics = completion.metrics
    line = f"{metrics.total_seconds:.2f} s, {metrics.output_tokens} tokens in {metrics.rounds} rounds after the prefill"
    if metrics.hint.arrival_position is not None:
        line += f", hint at token {metrics.hint.arrival_position}"
    if metrics.hint.error:
        line += f", the wave failed: {metrics.hint.error}"
    console.print()
    console.print(Text(f"  {line}", style="dim"))


def print_failure(console: Console, error: str) -> None:
    console.print()
    console.print(Text(f"  failed: {error}", style="red"), soft_wrap=True)


def _number(value: float | None, scale: float, form: str) -> str:
    return "" if value is None else form.format(value * scale)


def _range(values: Sequence[float]) -> str:
    return f"{min(values):.1f} to {max(values):.1f}x" if values else ""


_FIGURES: dict[str, Callable[[Summary], str]] = {
    "time": lambda s: f"{s.total_seconds:.2f} s",
    "decode time": lambda s: f"{s.decode_seconds:.2f} s",
    "first token, mean": lambda s: f"{s.first_token_seconds:.2f} s",
    "prefill, mean": lambda s: f"{s.prefill_seconds:.2f} s",
    "tokens": lambda s: str(s.tokens),
    "rounds": lambda s: str(s.rounds),
    "mean accepted tokens": lambda s: f"{s.mean_accepted:.2f}",
    "hint arrival, median": lambda s: _number(s.hint_arrival_seconds, 1000, "{:.0f} ms"),
    "  at output position": lambda s: _number(s.hint_position, 1, "{:.0f}"),
    "wave, mean": lambda s: _number(s.wave_seconds, 1000, "{:.0f} ms"),
    "  hidden": lambda s: _number(s.wave_hidden, 100, "{:.0f}%"),
    "payload, mean": lambda s: _number(s.payload_bytes, 1, "{:.0f} B"),
    "speedup": lambda s: _number(s.speedup, 1, "{:.2f}x"),
    "decode speedup": lambda s: _number(s.decode_speedup, 1, "{:.2f}x"),
    "  of requests": lambda s: _range(s.decode_speedups) if s.decode_speedup is not None else "",
}


def print_summary(console: Console, summaries: Sequence[Summary], setup: str) -> None:
    """The table of a live run, and which outputs differ; ``setup`` says what it was measured on."""
    print_table(console, summaries, f"Measured: {setup}")
    for summary in summaries[1:]:
        same = summary.requests - len(summary.differences)
        console.print(Text(f"{summary.method}: {same} of {summary.requests} outputs equal {summaries[0].method}'s"))
        for d in summary.differences:
            console.print(
                Text(f"  {d.request} departs at token {d.position}, where the logits are {d.margin:.3g} apart")
            )


def print_table(console: Console, summaries: Sequence[Summary], basis: str) -> None:
    """Figures by method; ``basis`` says what stands behind them."""
    title = Text(f"{summaries[0].requests} requests. {basis}")  # not markup: names may hold brackets
    table = Table(title=title, title_justify="left")
    table.add_column()
    for summary in summaries:
        table.add_column(summary.method, justify="right")
    for name, figure in _FIGURES.items():
        cells = [figure(summary) for summary in summaries]
        if any(cells):
            table.add_row(name, *cells)
    console.print()
    console.print(table)


def _style(source: str) -> str:
    return DRAFTER_COLOURS.get(source, "") if source else ""
