"""The report of one run: the scenario that was asked for, and what-ifs around it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from oospec_async.drawing import colours
from oospec_async.files.writing import write_atomically
from oospec_async.timeline.figure import figure
from oospec_async.timeline.runs import runs_of
from sim.costs.nanoseconds import NS
from sim.figures.events import events_of
from sim.figures.measure import decode, latency, pick
from sim.figures.provenance import basis
from sim.figures.simulator import Result, Simulator
from sim.figures.table import notes_by_method, requests_of, rows_of, unlike
from sim.report import charts
from sim.report.page import Pair, Paragraph, Plot, Section, Table, page
from sim.report.provenance import provenance_section
from sim.scenario.parameters import text_of
from sim.scenario.placement import Placement, Shared, SharedFair, Split, parse_placement
from sim.scenario.scenario import Scenario

_SPEEDS = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
_LATENCIES = (0.00001, 0.0001, 0.001, 0.003, 0.01, 0.03, 0.1)  # seconds
_PLACEMENTS: tuple[Placement, ...] = (Split(), SharedFair(), Shared(), parse_placement("fraction:share=0.25"))


def write_report(simulator: Simulator, results: Sequence[Result], path: Path) -> None:
    """Raises OospecError if it cannot be written."""
    title = f"Simulated tool calls: {Path(simulator.recording.source).name}"
    write_atomically(path, page(title, _sections(simulator, results)), "--report")


def _sections(simulator: Simulator, results: Sequence[Result]) -> list[Section]:
    """In the order of the page. Figures of a sidecar are left out where no method has one."""
    kind = basis(simulator.recording.trace)
    hinted = next((r for r in results if simulator.method(r.scenario.method).listens), None)
    sections = [_asked(simulator, results), _figures(results, kind), _latencies(simulator, results, hinted, kind)]
    if hinted is not None:
        sections += [_what_if(simulator, hinted, kind), _hints(hinted, kind), _devices(simulator, hinted)]
    sections += _timelines(results, hinted, kind)
    notes = [*notes_by_method(results), *unlike(results)]
    return [*sections, provenance_section(simulator.recording.trace, notes)]


def _asked(simulator: Simulator, results: Sequence[Result]) -> Section:
    first = results[0].scenario
    scenario = first.label.split(" ", 1)[1]
    kind = basis(simulator.recording.trace)
    about = [(r.scenario.method, simulator.method(r.scenario.method).about) for r in results]
    return Section(
        f"{requests_of(results)}, simulated by oospec-sim from {kind} parts",
        [
            Paragraph(f"Asked: {scenario}. {_sentence(first.placement.about)} {_sentence(first.load.about)}"),
            Table(["method", "what it is here"], about, "words"),
        ],
    )


def _figures(results: Sequence[Result], kind: str) -> Section:
    rows = [[name, *cells] for name, cells in rows_of(results, kind)]
    styles = ["in" if name.startswith("  ") else "head" for name, *_ in rows]
    return Section(
        "Figures",
        [
            Table(["", *(result.scenario.method for result in results)], rows, row_styles=styles),
            Paragraph(
                "A speedup is total time over total time on the same outputs, never a mean of ratios; p05 and p95 are "
                "of single requests. Latency runs from a request's arrival to its last commit, decode from the first "
                "commit to the last. Mean accepted tokens are what a round commits, the target's own token included.",
                "faint",
            ),
        ],
    )


def _latencies(simulator: Simulator, results: Sequence[Result], hinted: Result | None, kind: str) -> Section:
    caption = f"Box: quartiles; line in it: median; dashed: mean; whiskers: p05 and p95 of requests ({kind})."
    by_method = charts.boxes(
        [(r.scenario.method, [latency(s) * 1e3 for s in r.replay.served]) for r in results], "latency, ms", log=True
    )
    left = Plot(by_method, caption, "Latency by method.")
    if hinted is None:
        return Section("Latency", [left])
    groups = [
        (placement.name, [latency(s) * 1e3 for s in simulator.run(scenario).replay.served])
        for placement, scenario in _placed(hinted.scenario)
    ]
    right = Plot(charts.boxes(groups, "latency, ms"), caption, f"Latency of {hinted.scenario.method} by placement.")
    return Section("Latency", [Pair(left, right)])


def _what_if(simulator: Simulator, hinted: Result, kind: str) -> Section:
    asked = hinted.scenario
    bound = f"{simulator.method(asked.method).recorded}@zero"
    best = simulator.run(replace(asked, method=bound))
    around = asked.scale_sidecar if math.isfinite(asked.scale_sidecar) else 1.0
    speeds = [replace(asked, scale_sidecar=around * speed) for speed in _SPEEDS]
    links = [replace(asked, link_latency=seconds) for seconds in _LATENCIES]
    left = _speedups(simulator, speeds, [s.scale_sidecar for s in speeds], "speed of the sidecar's device", best)
    right = _speedups(simulator, links, [seconds * 1e3 for seconds in _LATENCIES], "latency of the link, ms", best)
    dotted = "Dotted: the last hint there from the start."
    return Section(
        f"What if: {asked.method} with another sidecar, or another link",
        [
            Pair(
                Plot(
                    left, f"1 is the recorded device. {dotted} Decode time, {kind}.", "Speedup against sidecar speed."
                ),
                Plot(
                    right, f"From publish to readable. {dotted} Decode time, {kind}.", "Speedup against link latency."
                ),
            )
        ],
    )


def _speedups(
    simulator: Simulator, scenarios: Sequence[Scenario], xs: Sequence[float], x: str, best: Result
) -> dict[str, object]:
    figures = [simulator.run(scenario).figures for scenario in scenarios]
    series, levels = [], {}
    for name in ("ar", "toolspec"):
        ys = [pick(each, f"decode_speedup_vs_{name}.mean") for each in figures]
        if None not in ys:
            series.append((name, list(xs), [y for y in ys if y is not None]))
        if (level := pick(best.figures, f"decode_speedup_vs_{name}.mean")) is not None:
            levels[f"at once, over {name}"] = level
    drawn = charts.lines([(f"over {n}", a, b) for n, a, b in series], x, "decode speedup", log=True, levels=levels)
    for trace, (name, _, _) in zip(drawn["data"], series, strict=True):
        trace["line"]["color"] = charts.colour_of(name)
    return drawn


def _hints(hinted: Result, kind: str) -> Section:
    served = hinted.replay.served
    polled = [each for each in served if each.polls]
    in_output, in_time = [], []
    for name, which in (("first hint", 0), ("newest hint", -1)):
        places = [(s.polls[which][1] - 1) / max(s.timetable.output - 1, 1) * 100 for s in polled]
        times = [(s.polls[which][0] - s.first_token) / NS * 1e3 for s in polled]
        in_output.append(charts.distribution_line(name, places, len(served)))
        in_time.append(charts.distribution_line(name, times, len(served)))
    place = charts.lines(in_output, "output committed before it, %", "share of requests", steps=True)
    when = charts.lines(in_time, "ms after the first token", "share of requests", steps=True)
    for drawn in (place, when):
        drawn["layout"]["yaxis"] |= {"tickformat": ".0%", "range": [0, 1.02]}
    return Section(
        f"Where the hint arrives ({hinted.scenario.method})",
        [
            Pair(
                Plot(place, f"Requests by how much was committed when a poll found it ({kind}).", "In the output."),
                Plot(when, f"The same by time ({kind}); 0 is the poll right after the prefill.", "In time."),
            )
        ],
    )


def _devices(simulator: Simulator, hinted: Result) -> Section:
    names, target, sidecar = [], [], []
    for placement, scenario in _placed(hinted.scenario):
        figures = simulator.run(scenario).figures
        names.append(placement.name)
        target.append(pick(figures, "utilisation.target"))
        sidecar.append(pick(figures, "utilisation.sidecar"))
    drawn = charts.bars(
        names, [("target's device", target), ("sidecar's device or share", sidecar)], "busy", percent=True
    )
    for trace, colour in zip(drawn["data"], (colours.PREFILL, colours.drafter_colour("hint")), strict=True):
        trace["marker"]["color"] = colour
    caption = (
        f"Share of the run in which devices worked, {hinted.scenario.method}. Where both models share one device, the "
        f"target's bar is all of the device's work and the sidecar's its own part of it."
    )
    return Section("How busy the devices are", [Plot(drawn, caption, "By placement.")])


def _timelines(results: Sequence[Result], hinted: Result | None, kind: str) -> list[Section]:
    main = hinted or results[-1]
    ordered = sorted(main.replay.served, key=lambda s: (decode(s), s.timetable.request))
    chosen = {"typical": ordered[len(ordered) // 2], "worst": ordered[-1]}
    name = main.scenario.method
    body = []
    for what, served in chosen.items():
        request = served.timetable.request
        drawn = figure(runs_of(events_of(results, [request])))
        lead = f"The {what} request, {request}."
        caption = (
            f"{'Median' if what == 'typical' else 'Longest'} decode time under {name} ({kind}). Above a round: the "
            f"tokens that it committed; orange: tokens that only the hint made acceptable, brown: other drafters', "
            f"grey: the target's own."
        )
        body.append(Plot(drawn, caption, lead))
    return [Section("A typical and the worst request", body)]


def _placed(asked: Scenario) -> list[tuple[Placement, Scenario]]:
    """The asked placement first, then the usual ones; those with one device need a sidecar for every target."""
    usual = [p for p in _PLACEMENTS if text_of(p) != text_of(asked.placement)]
    return [(p, replace(asked, placement=p, sidecars=asked.targets)) for p in (asked.placement, *usual)]


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."
