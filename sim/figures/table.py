"""Results as a table on a terminal: figures down the side, methods across, and below what stands behind them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.console import Console

from oospec_async.console.output import print_line
from oospec_async.console.table import Table, print_table
from sim.costs.recording import Recording
from sim.figures.measure import Figures, pick
from sim.figures.provenance import basis, models_line, provenance_lines
from sim.figures.simulator import Result

Cell = Callable[[Figures], str]


def seconds(value: float) -> str:
    """Three digits and a unit."""
    for scale, unit in ((1, "s"), (1e3, "ms"), (1e6, "µs")):
        if value * scale >= 1 or unit == "µs":
            return f"{value * scale:.3g} {unit}" if value * scale < 1000 else f"{value * scale:.0f} {unit}"
    raise AssertionError


def form_of(path: str) -> Callable[[float], str]:
    """How a figure is written: by its name's unit."""
    name = path.partition(".")[0]
    if "speedup" in name:
        return _times
    if name in _SHARES:
        return _percent
    return seconds if name in _SECONDS else lambda value: f"{value:.4g}"


_SHARES = {"wave_hidden", "utilisation", "hint_used", "last_hint_used", "waves_cut"}
_SECONDS = {
    "latency", "ttft", "prefill", "decode", "queued", "wave", "hint_published", "hint_arrival", "last_hint_arrival",
}  # fmt: skip


def _one(path: str, form: Callable[[float], str]) -> Cell:
    def cell(figures: Figures) -> str:
        value = pick(figures, path)
        return "" if value is None else form(value)

    return cell


def _percent(value: float) -> str:
    return f"{value:.0%}"


def _times(value: float) -> str:
    return f"{value:.2f}x"


def _speedups(name: str) -> Sequence[tuple[str, Cell | None]]:
    decode = f"decode_speedup_vs_{name}"
    return (
        (f"speedup over {name}", None),
        ("  decode, {basis}", _one(f"{decode}.mean", _times)),
        ("    of requests, p05", _one(f"{decode}.p05", _times)),
        ("    of requests, p95", _one(f"{decode}.p95", _times)),
        ("  all, {basis}", _one(f"speedup_vs_{name}.mean", _times)),
    )


ROWS: Sequence[tuple[str, Cell | None]] = (  # None: a heading
    ("requests", _one("requests", lambda v: f"{v:.0f}")),
    ("latency, mean", _one("latency.mean", seconds)),
    ("  p50", _one("latency.p50", seconds)),
    ("  p95", _one("latency.p95", seconds)),
    ("first token, mean", _one("ttft.mean", seconds)),
    ("decode, mean", _one("decode.mean", seconds)),
    *_speedups("ar"),
    *_speedups("toolspec"),
    ("mean accepted tokens", _one("mean_accepted", lambda v: f"{v:.2f}")),
    ("rounds", _one("rounds", lambda v: f"{v:.0f}")),
    ("first hint, p50", _one("hint_arrival.p50", seconds)),
    ("  at output token", _one("hint_position.p50", lambda v: f"{v:.0f}")),
    ("  used by requests", _one("hint_used", _percent)),
    ("last hint, p50", _one("last_hint_arrival.p50", seconds)),
    ("  at output token", _one("last_hint_position.p50", lambda v: f"{v:.0f}")),
    ("  used by requests", _one("last_hint_used", _percent)),
    ("wave, mean", _one("wave.mean", seconds)),
    ("  hidden, mean", _one("wave_hidden.mean", _percent)),
    ("  hidden, p05", _one("wave_hidden.p05", _percent)),
    ("target busy", _one("utilisation.target", _percent)),
    ("sidecar busy", _one("utilisation.sidecar", _percent)),
    ("devices", _one("devices", lambda v: f"{v:.0f}")),
)


def rows_of(results: Sequence[Result], kind: str) -> list[tuple[str, list[str]]]:
    """Names and cells of the figures that some result has; a heading wherever something stands below it."""
    found: list[tuple[str, list[str]]] = []
    heading: str | None = None
    for name, cell in ROWS:
        if cell is None:
            heading = name
            continue
        if not name.startswith("  "):
            heading = None
        if any(cells := [cell(result.figures) for result in results]):
            if heading is not None:
                found.append((heading, [""] * len(results)))
                heading = None
            found.append((name.format(basis=kind), cells))
    return found


def print_results(console: Console, recording: Recording, results: Sequence[Result]) -> None:
    """One column a result; below it what stands behind the figures."""
    trace, first = recording.trace, results[0].scenario
    kind = basis(trace)
    title = f"{requests_of(results)}, simulated from {kind} parts: {recording.source}"
    rows = [[name, *cells] for name, cells in rows_of(results, kind)]
    print_table(console, Table(title, ["", *(result.scenario.method for result in results)], rows))
    same = first.label.split(" ", 1)[1]
    for line in [f"Scenario: {same}. {first.placement.about}; {first.load.about}.", *behind(recording, results)]:
        print_line(console, line)


def requests_of(results: Sequence[Result]) -> str:
    """How many requests the results are about."""
    counts = sorted({len(result.replay.served) for result in results})
    many = f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else f"{counts[0]}"
    return f"{many} request{'s' * (counts[-1] > 1)}"


def behind(recording: Recording, results: Sequence[Result]) -> list[str]:
    """The lines that belong beside every figure: devices, provenance, and what was extrapolated or assumed."""
    notes = [f"Note {note}" for note in notes_by_method(results)]
    return [f"Trace: {models_line(recording.trace)}.", *provenance_lines(recording.trace), *notes, *unlike(results)]


def unlike(results: Sequence[Result]) -> list[str]:
    """A line if columns are about different requests or outputs, so that they must not be compared figure by figure."""
    outputs = [{s.timetable.request: s.timetable.output for s in result.replay.served} for result in results]
    if all(each == outputs[0] for each in outputs):
        return []
    same = set.intersection(*(set(each.items()) for each in outputs))
    return [
        f"Note: not all methods have the same requests with the same outputs ({len(same)} are common to all); "
        f"compare methods by their speedups only, which are measured on what both have in common"
    ]


def notes_by_method(results: Sequence[Result]) -> list[str]:
    """What was extrapolated or assumed, and for which methods."""
    notes: dict[str, list[str]] = {}
    for result in results:
        for note in result.notes:
            methods = notes.setdefault(note, [])
            if result.scenario.method not in methods:
                methods.append(result.scenario.method)
    return [f"({', '.join(methods)}): {note}" for note, methods in notes.items()]
