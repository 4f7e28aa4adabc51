"""One request as a plotly figure: under every method the lanes of its run, all on the same time scale."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from html import escape

from oospec_async.events import Event
from oospec_async.request import Json
from oospec_async.timeline import colours
from oospec_async.timeline.boxes import CLEAR, Boxes, arrows, markers
from oospec_async.timeline.runs import Run, count, drafted_by

# Heights of lanes and the gaps around them, in pixels, which are also the units of the y axis.
_HEADER, _LABELS, _TARGET, _CHANNEL, _SIDECAR, _GAP = 22, 15, 30, 30, 26, 20
_MARGIN = {"t": 2, "b": 46, "l": 66, "r": 14}
_FONT = '"Helvetica Neue", Helvetica, Arial, "Liberation Sans", sans-serif'
_HINT = colours.DRAFTER_COLOURS["hint"]

_Clock = Callable[[int], float]  # monotonic ns to ms since the run's zero


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
        self._last_ms = max(_ms(run, event.end_ns) for run in runs for event in run.events)
        self._first_ms = min(_ms(run, event.start_ns) for run in runs for event in run.events)
        self._ar = next((run for run in runs if run.method == "ar"), None)
        self._y = 0.0
        self._bands = {name: Boxes(colour, line_width=0) for name, colour in colours.DRAFTER_COLOURS.items()}
        self._bands["other"] = Boxes(colours.OTHER_DRAFTER, line_width=0)
        most = max(len(run.named("target", "verify")) for run in runs)
        # Hundreds of rounds are a pixel or two wide: a full outline would bleach them.
        self._rounds = Boxes(CLEAR, line_width=min(1.0, 150 / max(most, 1)))
        self._labels = Boxes(CLEAR, line=CLEAR)
        self._prefill = Boxes(colours.PREFILL)
        self._chain = Boxes(colours.CHAIN, line_width=0)
        self._host = Boxes(colours.HOST, line_width=0)
        self._sidecar_prefill = Boxes(colours.SIDECAR_PREFILL)
        self._step = Boxes(colours.SIDECAR_STEP, line=_HINT, line_width=0.5)
        self._published: list[tuple[float, float, str]] = []
        self._unread: list[tuple[float, float, str]] = []
        self._found: list[tuple[float, float, str]] = []
        self._arrows: list[tuple[tuple[float, float], tuple[float, float]]] = []
        self._lanes: list[tuple[float, str]] = []
        self._notes: list[dict[str, Json]] = []
        self._shapes: list[dict[str, Json]] = []

    def draw(self, run: Run) -> None:
        """Adds a run below what is there."""
        self._note(f"<b>{escape(run.method)}</b>{_summary(run)}", x=0, xref="paper", y=self._y + _HEADER / 2)
        self._y += _HEADER + _LABELS
        top = self._y
        self._target(run, self._lane("target", _TARGET))
        if run.on("channel"):
            self._channel(run, self._lane("channel", _CHANNEL))
        if run.on("sidecar"):
            self._sidecar(run, self._lane("sidecar", _SIDECAR))
        end = _ms(run, run.end_ns)
        self._shapes.append(
            {"type": "line", "x0": end, "x1": end, "y0": top, "y1": self._y, "line": {"color": colours.INK, "width": 1}}
        )
        self._note(f"<b>{_time(end)}</b>{self._ratio(run)}", x=end, xref="x", xshift=5, y=top + _TARGET / 2)
        self._y += _GAP

    def _lane(self, name: str, height: int) -> float:
        top = self._y
        self._lanes.append((top + height / 2, name))
        self._y += height
        return top

    def _target(self, run: Run, top: float) -> None:
        for event in run.named("target", "prefill"):
            tokens = count(event, "tokens")
            hover = _hover(run, event, "prefill", f"{tokens} tokens")
            self._prefill.add(_span(run, event), top, _TARGET, "prefill", hover)
        for number, event in enumerate(run.named("target", "verify"), start=1):
            self._round(run, event, number, top)
        for event in run.named("target", "chain"):
            hover = _hover(run, event, "draft model", f"{count(event, 'tokens')} tokens drafted")
            self._chain.add(_span(run, event), top, _TARGET, "", hover)
        for event in run.on("host"):
            self._host.add(_span(run, event), top, _TARGET, "", _hover(run, event, escape(event.name)))

    def _round(self, run: Run, event: Event, number: int, top: float) -> None:
        span, committed = _span(run, event), count(event, "committed")
        drafted = Counter(drafted_by(event))
        shares = Counter({"": max(committed - drafted.total(), 0)}) + drafted
        total = shares.total() or 1
        at = 0.0
        for name in (*colours.DRAFTER_COLOURS, *(shares.keys() - colours.DRAFTER_COLOURS.keys())):
            height = _TARGET * shares[name] / total
            if height:
                self._bands.get(name, self._bands["other"]).add(span, top + at, height)
                at += height
        came = ", ".join(f"{escape(name or 'target')} {tokens}" for name, tokens in shares.items())
        facts = [
            f"<b>{committed} committed</b> ({came})",
            f"{count(event, 'accepted')} drafted tokens accepted, {count(event, 'tokens')} nodes in the tree",
            f"output position {count(event, 'position')}",
        ]
        self._rounds.add(span, top, _TARGET, "", _hover(run, event, f"round {number}", *facts))
        # Taller than the room they are given: plotly hides a label that comes within 3 pixels of its box.
        self._labels.add(span, top - _LABELS - 4, _LABELS + 5, str(committed or ""))

    def _channel(self, run: Run, top: float) -> None:
        low, high = top + _CHANNEL - 6, top + 1
        handovers = run.handovers()
        read = [publish for publish, _ in handovers]
        for event in run.named("channel", "publish"):
            facts = f"{count(event, 'bytes')} bytes, {count(event, 'ready')} slots ready"
            what = f"hint {count(event, 'version')} published" + ("" if event in read else ", never picked up")
            point = (_ms(run, event.start_ns), low, _hover(run, event, what, facts))
            (self._published if event in read else self._unread).append(point)
        for event in run.named("channel", "poll"):
            hover = _hover(run, event, f"hint {count(event, 'version')} found", f"position {count(event, 'position')}")
            self._found.append((_ms(run, event.start_ns), high, hover))
        for publish, poll in handovers:
            self._arrows.append(((_ms(run, publish.start_ns), low), (_ms(run, poll.start_ns), high)))

    def _sidecar(self, run: Run, top: float) -> None:
        for event in run.named("sidecar", "prefill"):
            hover = _hover(run, event, "sidecar prefill", f"{count(event, 'tokens')} tokens")
            self._sidecar_prefill.add(_span(run, event), top, _SIDECAR, "prefill", hover)
        steps = run.named("sidecar", "step")
        most = max((count(event, "branches") for event in steps), default=0) or 1
        for event in steps:
            branches = count(event, "branches")
            hover = _hover(run, event, "sidecar step", f"{branches} live branches")
            height = max(_SIDECAR * branches / most, _SIDECAR / 8)
            self._step.add(_span(run, event), top + _SIDECAR - height, height, "", hover)

    def _ratio(self, run: Run) -> str:
        """How the run compares with plain decoding, where both committed the same number of tokens."""
        if self._ar is None or run is self._ar or run.committed != self._ar.committed or run.end_ns <= run.zero_ns:
            return ""
        return _faint(f"{_ms(self._ar, self._ar.end_ns) / _ms(run, run.end_ns):.2f}× as fast as ar")

    def _note(self, text: str, **place: Json) -> None:
        look = {"yref": "y", "xanchor": "left", "yanchor": "middle", "showarrow": False, "align": "left"}
        self._notes.append({"text": text, "font": {"size": 13}, **look, **place})

    def traces(self) -> list[dict[str, Json]]:
        """Bottom to top."""
        target = [*self._bands.values(), self._prefill, self._chain, self._host, self._rounds, self._labels]
        dot = {"size": 8, "line": {"color": _HINT, "width": 1.5}}
        boxes = [*target, self._sidecar_prefill, self._step]
        return [
            *(trace for some in boxes for trace in some.traces()),
            *arrows(self._arrows, _HINT),
            *markers(self._published, {"color": _HINT, **dot}),
            *markers(self._unread, {"color": "#FFFFFF", **dot}),
            *markers(self._found, {"color": CLEAR, "size": 10}),  # only to be pointed at: the arrow's head is there
        ]

    def layout(self) -> dict[str, Json]:
        height = self._y - _GAP + 4
        span = self._last_ms - self._first_ms
        # Room on the right for the label behind the slowest run.
        xrange = [min(self._first_ms, 0) - span * 0.002, self._last_ms + max(span * 0.11, 0.001)]
        return {
            "height": height + _MARGIN["t"] + _MARGIN["b"],
            "margin": _MARGIN,
            "barmode": "overlay",
            "showlegend": False,
            "hovermode": "closest",
            "dragmode": "zoom",
            "font": {"family": _FONT, "size": 12, "color": colours.INK},
            "hoverlabel": {
                "bgcolor": "#FFFFFF",
                "bordercolor": colours.FAINT_INK,
                "font": {"size": 12},
                "align": "left",
            },
            "modebar": {"color": "#C3C9D2", "activecolor": colours.FAINT_INK, "bgcolor": CLEAR},
            "uniformtext": {"mode": "hide", "minsize": 9},
            "plot_bgcolor": "#FFFFFF",
            "paper_bgcolor": "#FFFFFF",
            "xaxis": {
                "range": xrange,
                "title": {"text": "ms since the start of the prefill", "font": {"color": colours.FAINT_INK}},
                "gridcolor": colours.GRID,
                "zeroline": False,
                "ticks": "outside",
                "tickcolor": colours.FAINT_INK,
                "tickformat": ",~r",
            },
            "yaxis": {
                "range": [height, 0],
                "fixedrange": True,
                "showgrid": False,
                "zeroline": False,
                "tickvals": [middle for middle, _ in self._lanes],
                "ticktext": [name for _, name in self._lanes],
                "tickfont": {"color": colours.FAINT_INK},
            },
            "annotations": self._notes,
            "shapes": self._shapes,
        }


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
