"""The timeline of a run as one web page that needs nothing from a network."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import groupby

from oospec_async.events import Event
from oospec_async.timeline import colours
from oospec_async.timeline.figure import figure
from oospec_async.timeline.runs import drafted_by, runs_of
from oospec_async.timeline.webpage import document, embedded

_STYLE = """
:root { color-scheme: light; }
body { margin: 0 auto; padding: 28px 32px 64px; max-width: 1500px; background: #FFFFFF; color: INK;
       font: 15px/1.5 "Helvetica Neue", Helvetica, Arial, "Liberation Sans", sans-serif; }
h1 { font-size: 22px; font-weight: 600; margin: 0 240px 6px 0; overflow-wrap: anywhere; }
h2 { font-size: 16px; font-weight: 600; margin: 34px 0 8px; padding-top: 14px; border-top: 1px solid GRID;
     overflow-wrap: anywhere; }
p { margin: 0 0 10px; max-width: 76em; color: FAINT; }
.legend { display: flex; flex-wrap: wrap; gap: 4px 18px; margin: 0; padding: 0; list-style: none; font-size: 13px; }
.legend i { display: inline-block; width: 13px; height: 13px; margin-right: 6px; vertical-align: -2px;
            border-radius: 2px; }
.legend b { font-weight: 600; }
.legend .dot { border-radius: 50%; width: 9px; height: 9px; vertical-align: 0; }
nav { position: fixed; top: 12px; right: 20px; z-index: 9; }
select { font: inherit; font-size: 13px; max-width: 260px; padding: 3px 6px; }
section { break-inside: avoid; }
@media print { nav { display: none; } }
"""

# Figures are drawn when they come near the window: a page of many requests opens as fast as one of a few.
_SCRIPT = """
const config = {responsive: true, displaylogo: false, modeBarButtons: [["toImage", "resetScale2d"]]};
const plots = document.querySelectorAll(".plot");
function draw(plot) {
  if (plot.dataset.drawn) return;
  plot.dataset.drawn = "1";
  const figure = JSON.parse(plot.nextElementSibling.textContent);
  Plotly.newPlot(plot, figure.data, figure.layout, config);
}
const watcher = new IntersectionObserver(
  entries => entries.filter(entry => entry.isIntersecting).forEach(entry => draw(entry.target)),
  {rootMargin: "800px"});
plots.forEach(plot => watcher.observe(plot));
addEventListener("beforeprint", () => plots.forEach(draw));
const chooser = document.querySelector("nav select");
if (chooser) chooser.onchange = () => document.getElementById(chooser.value).scrollIntoView();
"""

_HANDOVER = "hint, from its publish to the poll that found it (hollow: never picked up)"


def page(events: Sequence[Event], title: str) -> str:
    """The page as HTML text: a legend, and a figure per request. ``title`` and names out of the events are escaped."""
    sections = [(request, list(runs)) for request, runs in groupby(runs_of(events), key=lambda run: run.request)]
    figures = [
        f'<section id="request-{number}"><h2>{escape(request)}</h2>\n{embedded(figure(runs))}\n</section>'
        for number, (request, runs) in enumerate(sections)
    ]
    options = "".join(
        f'<option value="request-{number}">{escape(request)}</option>' for number, (request, _) in enumerate(sections)
    )
    chooser = f'<nav><select aria-label="go to a request">{options}</select></nav>' if len(sections) > 1 else ""
    body = "\n".join(figures) or "<p>No events were recorded.</p>"
    return document(title, _STYLE, _SCRIPT, f"{chooser}\n<h1>{escape(title)}</h1>\n{_legend(events)}\n{body}")


def _legend(events: Sequence[Event]) -> str:
    """What the colours mean, of those that occur."""
    if not events:
        return ""
    kinds = {(event.track, event.name) for event in events}
    drafters = {drafter for event in events for drafter in drafted_by(event)}
    known = [drafter for drafter in colours.DRAFTER_COLOURS if drafter in drafters]
    named = [*known, *sorted(drafters - set(known))]
    entries = [
        ("prefill", colours.PREFILL, "", ("target", "prefill") in kinds),
        ("draft model", colours.CHAIN, "", ("target", "chain") in kinds),
        ("by the target itself", colours.drafter_colour(""), "", ("target", "verify") in kinds),
        *((f"by {drafter}", colours.drafter_colour(drafter), "", True) for drafter in named),
        ("host", colours.HOST, "", any(track == "host" for track, _ in kinds)),
        ("sidecar prefill", colours.SIDECAR_PREFILL, "", ("sidecar", "prefill") in kinds),
        ("sidecar step, as high as branches are live", colours.SIDECAR_STEP, "", ("sidecar", "step") in kinds),
        (_HANDOVER, colours.DRAFTER_COLOURS["hint"], "dot", ("channel", "publish") in kinds),
    ]
    items = "".join(
        f'<li><i class="{shape}" style="background:{colour}"></i>{escape(name)}</li>'
        for name, colour, shape, occurs in entries
        if occurs
    )
    return (
        "<p>Each box on a target lane is one round: above it the tokens that it committed, its bands the shares of "
        "those who drafted them.<br>Point at anything for its numbers; drag to zoom, double-click to zoom out.</p>\n"
        f'<ul class="legend">{items}</ul>'
    )
