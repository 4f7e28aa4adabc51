"""The timeline of a run as one web page that needs nothing from a network."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from oospec_async.drawing import colours
from oospec_async.drawing.webpage import render
from oospec_async.events import Event
from oospec_async.timeline.figure import figure
from oospec_async.timeline.runs import by_request, drafted_by

_TEMPLATE = Path(__file__).with_name("timeline.html")
_HANDOVER = "hint, from its publish to the poll that found it (hollow: never picked up)"


def page(events: Sequence[Event], title: str) -> str:
    """The page as HTML text: a legend, and a figure per request. ``title`` and names out of the events are escaped."""
    requests = [(request, figure(runs)) for request, runs in by_request(events)]
    return render(_TEMPLATE, title=title, requests=requests, legend=_legend(events))


def _legend(events: Sequence[Event]) -> list[tuple[str, str, str]]:
    """Name, colour and shape of what occurs."""
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
        (_HANDOVER, colours.drafter_colour("hint"), "dot", ("channel", "publish") in kinds),
    ]
    return [(name, colour, shape) for name, colour, shape, occurs in entries if occurs]
