"""Draw one request of a recorded trace, with and without the hint: what the target and the sidecar did, and when.

    python tools/draw_request.py TRACE.json --out request.svg [--request ID]

The trace must hold the rounds of at least one method with hints and one without (``oospec-run --live --record``, or
``tools/bench.py run --record``). Without ``--request`` it is the one whose decode speedup is the median.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from math import inf
from pathlib import Path
from statistics import median_low
from typing import Any

import click
from drawing import check_picture, dress, write_picture

from oospec_async.console.command import run_command, visible
from oospec_async.errors import OospecError
from oospec_async.files.writing import check_outputs
from oospec_async.timeline.colours import DRAFTER_COLOURS, FAINT_INK, INK, PREFILL, SIDECAR_PREFILL, SIDECAR_STEP
from oospec_async.trace import RequestTrace, Trace, read_trace

_PLAIN, _HINTED = DRAFTER_COLOURS["schema"], DRAFTER_COLOURS["hint"]
_LANE = 0.6  # height of a bar, of a lane
_NARROW = 0.012  # share of the picture's width below which a bar has no room for a number

Runs = Mapping[str, RequestTrace]  # of one request, by method


def runs_of(trace: Trace, request: str | None) -> tuple[str, Runs]:
    """The request to draw and its recorded runs. Raises OospecError where there is none."""
    by_request: dict[str, dict[str, RequestTrace]] = {}
    for run in trace.requests:
        if run.rounds:
            by_request.setdefault(run.request, {})[run.method] = run
    both = {name: runs for name, runs in by_request.items() if _hinted(runs) and _plain(runs)}
    if not both:
        raise OospecError("requests: none has recorded rounds with a hint and without one; record both methods")
    if request is not None:
        if request not in both:
            raise OospecError(f"--request {request!r}: no request with rounds with and without a hint; see the trace")
        return request, both[request]
    gains = {name: _decode(_plain(runs)[-1]) / (_decode(_hinted(runs)[0]) or inf) for name, runs in both.items()}
    typical = median_low(gains.values())
    return next((name, both[name]) for name, gain in gains.items() if gain == typical)


def _hinted(runs: Runs) -> list[RequestTrace]:
    return [run for run in runs.values() if run.publishes]


def _plain(runs: Runs) -> list[RequestTrace]:
    """Slowest first."""
    return sorted((run for run in runs.values() if not run.publishes), key=_decode, reverse=True)


def _decode(run: RequestTrace) -> float:
    return _end(run) - run.rounds[0].start


def _end(run: RequestTrace) -> float:
    return run.rounds[-1].start + run.rounds[-1].seconds


def figure_of(trace: Trace, request: str, runs: Runs) -> Any:
    """The picture as matplotlib's Figure."""
    from matplotlib.figure import Figure

    shown = [*_plain(runs), *_hinted(runs)]
    lanes = len(shown) + len(_hinted(runs))
    figure = Figure(figsize=(10.5, 1.35 + 0.55 * lanes), facecolor="white", layout="constrained")
    axes = figure.add_subplot()
    width = max(_end(run) for run in shown)
    labels: list[str] = []
    for run in shown:
        _target(axes, len(labels), run, width)
        labels.append(f"{run.method}: target")
        if run.publishes:
            _sidecar(axes, len(labels), run)
            labels.append(f"{run.method}: sidecar")
    dress(axes, labels)
    axes.set_xlim(0, width * 1.08)
    axes.set_xlabel("seconds since the prefill began; in a round: tokens that it committed", fontsize=9)
    axes.set_title(visible(f"{request}: {shown[0].output_tokens} tokens"), loc="left", fontsize=11)
    figure.text(0.01, -0.02, visible(_caption(trace)), fontsize=7.5, color=FAINT_INK, ha="left", va="top")
    return figure


def _target(axes: Any, lane: int, run: RequestTrace, width: float) -> None:
    prefill = run.rounds[0].start
    axes.barh(lane, prefill, _LANE, color=PREFILL, edgecolor="white")
    axes.text(prefill / 2, lane, "prefill", ha="center", va="center", fontsize=8.5, color="white")
    for each in run.rounds:
        colour = _HINTED if each.hint_version else _PLAIN
        axes.barh(lane, each.seconds, _LANE, left=each.start, color=colour, edgecolor="white", linewidth=0.6)
        if each.seconds > _NARROW * width:
            middle = each.start + each.seconds / 2
            axes.text(middle, lane, str(each.committed), ha="center", va="center", fontsize=8, color="white")
    axes.text(_end(run), lane, f"  {_end(run):.2f} s", va="center", fontsize=9, color=INK)


def _sidecar(axes: Any, lane: int, run: RequestTrace) -> None:
    """Its forwards, and each published hint as a drop onto the target's lane above."""
    now = run.wave.start if run.wave is not None else 0.0
    for step in run.wave.steps if run.wave is not None else ():
        colour = SIDECAR_PREFILL if step.kind == "prefill" else SIDECAR_STEP
        axes.barh(lane, step.seconds, _LANE, left=now, color=colour, edgecolor="white", linewidth=0.6)
        now += step.seconds
    for publish in run.publishes:
        axes.annotate(
            "", xy=(publish.seconds, lane - 1 + _LANE / 2), xytext=(publish.seconds, lane - _LANE / 2),
            arrowprops={"arrowstyle": "-|>", "color": _HINTED, "linewidth": 1.1, "shrinkA": 0, "shrinkB": 0},
        )  # fmt: skip
    axes.text(now, lane, "  wave; arrows: hints", va="center", fontsize=8.5, color=FAINT_INK)


def _caption(trace: Trace) -> str:
    made = trace.provenance
    sidecar = f", sidecar {made.sidecar.name} on {made.sidecar.device}" if made.sidecar is not None else ""
    return f"Recorded: {made.target.name} ({made.target.dtype}) on {made.target.device}{sidecar}; {made.date[:10]}."


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("trace_file", metavar="TRACE.json", type=click.Path(path_type=Path))
@click.option("--out", required=True, type=click.Path(path_type=Path), help="A .svg or .png file.")
@click.option("--request", help="Its id; default: the one with the median decode speedup.")
def command(trace_file: Path, out: Path, request: str | None) -> None:
    """Draw one request of a recorded trace, with and without the hint."""
    check_outputs([trace_file], {"--out": out})
    check_picture(out, "--out")
    trace = read_trace(trace_file)
    try:
        name, runs = runs_of(trace, request)
    except OospecError as error:
        raise OospecError(f"{trace_file}: {error}") from None
    write_picture(out, "--out", lambda: figure_of(trace, name, runs), bbox_inches="tight")
    print(visible(f"{out}: {name}, {', '.join(runs)}"), file=sys.stderr)


def main(argv: Sequence[str] | None = None) -> int:
    """0: done, 2: bad input, which one line on stderr names, 130: interrupted."""
    return run_command(command, "draw_request.py", argv)


if __name__ == "__main__":
    sys.exit(main())
