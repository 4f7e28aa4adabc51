"""One request as a plotly figure: under every method the lanes of its run, all on the same time scale."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from html import escape

from oospec_async.drawing import colours
from oospec_async.drawing.look import axis, layout, note
from oospec_async.events import Event
from oospec_async.request import Json
from oospec_async.timeline.boxes import Boxes, Point, arrows, markers
from oospec_async.timeline.runs import Run, count, drafted_by

# Heights of lanes and the gaps around them, in pixels, which are also the units of the y axis.
_HEADER, _LABELS, _TARGET, _CHANNEL, _SIDECAR, _GAP = 22, 15, 30, 30, 26, 20
_MARGIN = {"t": 2, "b": 46, "l": 66, "r": 14}
_HINT = colours.drafter_colour("hint")


def figure(runs: Sequence[Run]) -> dict[str, Json]:
    """The plotly figure (data and layout) of one request's runs, one under the other.

    Time is in ms since the start of each run's prefill. Names out of the events are escaped.
    """
    sketch = _Sketch(runs)
    for run in runs:
        sketch.draw(run)
    return {"data": sketch.traces(), "layout": sketch.layout()}


class _Sketch:
    def __init__(self, runs: Sequence[Run]) -> None:
        self._runs = runs
        self._ar = next((run for run in runs if run.method == "ar"), None)
        self._y = 0.0
        most = max(len(run.named("target", "verify")) for run in runs)
        bands = (*colours.DRAFTER_COLOURS.values(), colours.OTHER_DRAFTER)
        self._bands = {colour: Boxes(colour, line_width=0) for colour in bands}
        self._boxes = {  # bottom to top
            "prefill": Boxes(colours.PREFILL),
            "chain": Boxes(colours.CHAIN, line_width=0),
            "host": Boxes(colours.HOST, line_width=0),
            # Hundreds of rounds are a pixel or two wide: a full outline would bleach them.
            "round": Boxes(colours.CLEAR, line_width=min(1.0, 150 / max(most, 1))),
            "label": Boxes(colours.CLEAR, line=colours.CLEAR),
            "sidecar prefill": Boxes(colours.SIDECAR_PREFILL),
            "sidecar step": Boxes(colours.SIDECAR_STEP, line=_HINT, line_width=0.5),
        }
        self._points: dict[str, list[tuple[float, float, str]]] = {"published": [], "unread": [], "found": []}
        self._arrows: list[tuple[Point, Point]] = []
        self._lanes: list[tuple[float, str]] = []
        self._notes: list[dict[str, Json]] = []
        self._ends: list[dict[str, Json]] = []

    def draw(self, run: Run) -> None:
        """Adds a run below what is there."""
        title = f"<b>{escape(run.method)}</b>{_summary(run)}"
        self._note(title, x=0, xref="paper", y=self._y + _HEADER / 2)
        self._y += _HEADER + _LABELS
        top = self._y
        self._target(run, self._lane("target", _TARGET))
        if run.on("channel"):
            self._channel(run, self._lane("channel", _CHANNEL))
        if run.on("sidecar"):
            self._sidecar(run, self._lane("sidecar", _SIDECAR))
        end = _ms(run, run.end_ns)
        line = {"color": colours.INK, "width": 1}
        self._ends.append({"type": "line", "x0": end, "x1": end, "y0": top, "y1": self._y, "line": line})
        self._note(f"<b>{_time(end)}</b>{self._ratio(run)}", x=end, xref="x", xshift=5, y=top + _TARGET / 2)
        self._y += _GAP

    def _lane(self, name: str, height: int) -> float:
        top = self._y
        self._lanes.append((top + height / 2, name))
        self._y += height
        return top

    def _note(self, text: str, **place: Json) -> None:
        self._notes.append(note(text, font={"size": 13}, yref="y", **place))

    def _target(self, run: Run, top: float) -> None:
        for event in run.named("target", "prefill"):
            hover = _hover(run, event, "prefill", f"{count(event, 'tokens')} tokens")
            self._boxes["prefill"].add(_span(run, event), top, _TARGET, "prefill", hover)
        for number, event in enumerate(run.named("target", "verify"), start=1):
            self._round(run, event, number, top)
        for event in run.named("target", "chain"):
            hover = _hover(run, event, "draft model", f"{count(event, 'tokens')} tokens drafted")
            self._boxes["chain"].add(_span(run, event), top, _TARGET, "", hover)
        for event in run.on("host"):
            self._boxes["host"].add(_span(run, event), top, _TARGET, "", _hover(run, event, escape(event.name)))

    def _round(self, run: Run, event: Event, number: int, top: float) -> None:
        span, committed = _span(run, event), count(event, "committed")
        drafted = Counter(drafted_by(event))
        shares = Counter({"": max(committed - drafted.total(), 0)}) + drafted
        at, one = top, _TARGET / (shares.total() or 1)
        for name in sorted(shares, key=_band):
            height = one * shares[name]
            self._bands[colours.drafter_colour(name)].add(span, at, height)
            at += height
        came = ", ".join(f"{escape(name or 'target')} {tokens}" for name, tokens in shares.items())
        facts = [
            f"<b>{committed} committed</b> ({came})",
            f"{count(event, 'accepted')} drafted tokens accepted, {count(event, 'tokens')} nodes in the tree",
            f"output position {count(event, 'position')}",
        ]
        self._boxes["round"].add(span, top, _TARGET, "", _hover(run, event, f"round {number}", *facts))
        # Taller than the room they are given: plotly hides a label that comes within 3 pixels of its box.
        self._boxes["label"].add(span, top - _LABELS - 4, _LABELS + 5, str(committed or ""))

    def _channel(self, run: Run, top: float) -> None:
        low, high = top + _CHANNEL - 6, top + 1
        handovers = run.handovers()
        read = [publish for publish, _ in handovers]
        for event in run.named("channel", "publish"):
            facts = f"{count(event, 'bytes')} bytes, {count(event, 'ready')} slots ready"
            what = f"hint {count(event, 'version')} published" + ("" if event in read else ", never picked up")
            point = (_ms(run, event.start_ns), low, _hover(run, event, what, facts))
            self._points["published" if event in read else "unread"].append(point)
        for event in run.named("channel", "poll"):
            hover = _hover(run, event, f"hint {count(event, 'version')} found", f"position {count(event, 'position')}")
            self._points["found"].append((_ms(run, event.start_ns), high, hover))
        for publish, poll in handovers:
            self._arrows.append(((_ms(run, publish.start_ns), low), (_ms(run, poll.start_ns), high)))

    def _sidecar(self, run: Run, top: float) -> None:
        for event in run.named("sidecar", "prefill"):
            hover = _hover(run, event, "sidecar prefill", f"{count(event, 'tokens')} tokens")
            self._boxes["sidecar prefill"].add(_span(run, event), top, _SIDECAR, "prefill", hover)
        steps = run.named("sidecar", "step")
        most = max((count(event, "branches") for event in steps), default=0) or 1
        for event in steps:
            branches = count(event, "branches")
            hover = _hover(run, event, "sidecar step", f"{branches} live branches")
            height = max(_SIDECAR * branches / most, _SIDECAR / 8)
            self._boxes["sidecar step"].add(_span(run, event), top + _SIDECAR - height, height, "", hover)

    def _ratio(self, run: Run) -> str:
        """How the run compares with plain decoding, where both committed the same number of tokens."""
        if self._ar is None or run is self._ar or run.committed != self._ar.committed or run.end_ns <= run.zero_ns:
            return ""
        return _faint(f"{_ms(self._ar, self._ar.end_ns) / _ms(run, run.end_ns):.2f}× as fast as ar")

    def traces(self) -> list[dict[str, Json]]:
        """Bottom to top."""
        dot = {"size": 8, "line": {"color": _HINT, "width": 1.5}}
        return [
            *(trace for boxes in (*self._bands.values(), *self._boxes.values()) for trace in boxes.traces()),
            *arrows(self._arrows, _HINT),
            *markers(self._points["published"], {"color": _HINT, **dot}),
            *markers(self._points["unread"], {"color": "#FFFFFF", **dot}),
            # Only to be pointed at: the arrow's head is there.
            *markers(self._points["found"], {"color": colours.CLEAR, "size": 10}),
        ]

    def layout(self) -> dict[str, Json]:
        height = self._y - _GAP + 4
        first = min(_ms(run, event.start_ns) for run in self._runs for event in run.events)
        last = max(_ms(run, event.end_ns) for run in self._runs for event in run.events)
        # Room on the right for the label behind the slowest run.
        shown = [min(first, 0) - (last - first) * 0.002, last + max((last - first) * 0.11, 0.001)]
        lanes: dict[str, Json] = {
            "range": [height, 0],
            "fixedrange": True,
            "showgrid": False,
            "ticks": "",
            "tickvals": [middle for middle, _ in self._lanes],
            "ticktext": [name for _, name in self._lanes],
            "tickfont": {"color": colours.FAINT_INK},
        }
        return layout(
            height + _MARGIN["t"] + _MARGIN["b"],
            _MARGIN,
            barmode="overlay",
            showlegend=False,
            dragmode="zoom",
            uniformtext={"mode": "hide", "minsize": 9},
            xaxis=axis("ms since the start of the prefill", range=shown, tickformat=",~r"),
            yaxis=axis(**lanes),
            annotations=self._notes,
            shapes=self._ends,
        )


def _band(drafter: str) -> int:
    """Its place from the top of a round's box."""
    known = list(colours.DRAFTER_COLOURS)
    return known.index(drafter) if drafter in known else len(known)


def _ms(run: Run, ns: int) -> float:
    return round((ns - run.zero_ns) / 1e6, 4)


def _span(run: Run, event: Event) -> tuple[float, float]:
    return _ms(run, event.start_ns), _ms(run, max(event.start_ns, event.end_ns))


def _time(ms: float) -> str:
    return f"{ms / 1000:.2f} s" if ms >= 1000 else f"{ms:.3g} ms"


def _summary(run: Run) -> str:
    rounds = len(run.named("target", "verify"))
    if not rounds:
        return ""
    return _faint(
        f"{run.committed} tokens in {rounds} round{'s' * (rounds != 1)}, {run.committed / rounds:.2f} a round"
    )


def _faint(text: str) -> str:
    return f'  <span style="color:{colours.FAINT_INK}">{text}</span>'


def _hover(run: Run, event: Event, what: str, *facts: str) -> str:
    start, end = _span(run, event)
    when = f"at {start:.2f} ms" if event.track == "channel" else f"{start:.2f} to {end:.2f} ms: {end - start:.2f} ms"
    return "<br>".join((f"{escape(run.method)}, {what}", *facts, when))
