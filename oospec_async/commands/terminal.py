"""What a run looks like on a terminal: calls as they come, then a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.console import Console
from rich.text import Text

from oospec_async.commands.summary import Summary
from oospec_async.completion import Chunk, Completion
from oospec_async.console.table import Table, cell, print_table
from oospec_async.drawing.colours import drafter_colour
from oospec_async.request import Request


def print_legend(console: Console, sources: Sequence[str]) -> None:
    legend = Text("tokens drafted by ")
    for index, source in enumerate(sources):
        legend.append(", " if index else "")
        legend.append(source, style=_style(source))
    console.print(legend.append("; plain: by the target itself"))


def print_request(console: Console, request: Request) -> None:
    about = request.messages[-1].content or ""
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
    for call in completion.invalid_calls:
        console.print(Text(f"  {call.name!r} is not among the calls: {call.reason}", style="dim"))


def print_failure(console: Console, error: str) -> None:
    console.print()
    console.print(Text(f"  failed: {error}", style="red"), soft_wrap=True)


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
    "hint arrival, median": lambda s: cell(s.hint_arrival_seconds, "{:.0f} ms", 1000),
    "  at output position": lambda s: cell(s.hint_position, "{:.0f}"),
    "wave, mean": lambda s: cell(s.wave_seconds, "{:.0f} ms", 1000),
    "  hidden": lambda s: cell(s.wave_hidden, "{:.0f}%", 100),
    "payload, mean": lambda s: cell(s.payload_bytes, "{:.0f} B"),
    "speedup": lambda s: cell(s.speedup, "{:.2f}x"),
    "decode speedup": lambda s: cell(s.decode_speedup, "{:.2f}x"),
    "  of requests": lambda s: _range(s.decode_speedups) if s.decode_speedup is not None else "",
}


def print_summary(console: Console, summaries: Sequence[Summary], setup: str) -> None:
    """The table of a live run, and which outputs differ; ``setup`` says what it was measured on."""
    print_figures(console, summaries, f"Measured: {setup}")
    for summary in summaries[1:]:
        same = summary.requests - len(summary.differences)
        console.print(Text(f"{summary.method}: {same} of {summary.requests} outputs equal {summaries[0].method}'s"))
        for d in summary.differences:
            console.print(
                Text(f"  {d.request} departs at token {d.position}, where the logits are {d.margin:.3g} apart")
            )


def print_figures(console: Console, summaries: Sequence[Summary], basis: str) -> None:
    """Figures by method; ``basis`` says what stands behind them."""
    rows = [[name, *map(figure, summaries)] for name, figure in _FIGURES.items()]
    heads = ["", *(summary.method for summary in summaries)]
    console.print()
    title = f"{summaries[0].requests} requests. {basis}"
    print_table(console, Table(title, heads, [row for row in rows if any(row[1:])]))


def _style(source: str) -> str:
    return drafter_colour(source) if source else ""
