"""Figures of a replay. Times in seconds; every distribution has mean, p05, p50, p95, min and max over requests."""

from __future__ import annotations

from collections.abc import Sequence

from oospec_async.console.figures import PERCENTILES, distribution, ratio, tokens_per_round
from sim.costs.nanoseconds import NS
from sim.replay.devices import Span
from sim.replay.replay import Replay, Served

Distribution = dict[str, float]
Figures = dict[str, float | Distribution]

_NUMBERS = (
    "requests", "tokens", "rounds", "mean_accepted", "throughput", "devices",
    "hint_used", "last_hint_used", "waves_cut",
)  # fmt: skip
_DISTRIBUTIONS = (
    "latency", "ttft", "prefill", "decode", "queued",
    "speedup_vs_ar", "decode_speedup_vs_ar", "speedup_vs_toolspec", "decode_speedup_vs_toolspec",
    "hint_published", "hint_arrival", "hint_position", "last_hint_arrival", "last_hint_position", "wave", "wave_hidden",
)  # fmt: skip


def measure(replay: Replay) -> Figures:
    """Figures of one method under one scenario; what there is nothing to say about (no sidecar) is left out."""
    served = replay.served
    rounds, tokens = sum(len(s.rounds) for s in served), sum(s.timetable.output for s in served)
    figures: Figures = {
        "requests": len(served),
        "latency": distribution([latency(s) for s in served]),
        "ttft": distribution([(s.first_token - s.arrival) / NS for s in served]),
        "prefill": distribution([(s.prefill[1] - s.prefill[0]) / NS for s in served]),
        "decode": distribution([decode(s) for s in served]),
        "queued": distribution([(s.start - s.arrival) / NS for s in served]),
        "tokens": tokens,
        "rounds": rounds,
        "mean_accepted": tokens_per_round(tokens, len(served), rounds),
        "throughput": len(served) / (replay.makespan / NS),
        "utilisation": _utilisation(replay),
    }
    return figures | _hints(served)


def known_figures() -> list[str]:
    """The path of every figure that some scenario may have."""
    parts = [f"{name}.{part}" for name in _DISTRIBUTIONS for part in ("mean", *PERCENTILES)]
    return [*_NUMBERS, *parts, "utilisation.target", "utilisation.sidecar"]


def speedups(replay: Replay, baseline: Replay, name: str) -> Figures:
    """Over a baseline that served the same requests: mean is total time over total time, the rest is per request."""
    return {
        f"speedup_vs_{name}": _speedup([latency(s) for s in baseline.served], [latency(s) for s in replay.served]),
        f"decode_speedup_vs_{name}": _speedup([decode(s) for s in baseline.served], [decode(s) for s in replay.served]),
    }


def latency(served: Served) -> float:
    """Seconds from arrival to the last commit."""
    return (served.end - served.arrival) / NS


def decode(served: Served) -> float:
    """Seconds from the first commit to the last."""
    return (served.end - served.first_token) / NS


def hidden(served: Served) -> float | None:
    """Share of the whole wave's time during which the target worked on the request; None: no wave ran.

    Of a wave that was cut off, the part that was not run counts as not hidden.
    """
    wave = served.wave
    if wave is None or not wave.spans:
        return None
    begin, end = wave.spans[0][0], wave.spans[-1][1]
    left = sum(wave.ns[len(wave.spans) :])
    overlap = min(end, served.end) - max(begin, served.start)
    return max(overlap, 0) / (end - begin + left)


def pick(figures: Figures, path: str) -> float | None:
    """The figure ``latency.p50``, or None where there is none."""
    name, _, part = path.partition(".")
    value = figures.get(name)
    if isinstance(value, dict):
        return value.get(part)
    return value if not part else None


def _speedup(before: Sequence[float], after: Sequence[float]) -> Distribution:
    """What takes no time, as a decode of one token, counts as equal."""
    total, *single = (ratio(b, a) for b, a in zip((sum(before), *before), (sum(after), *after), strict=True))
    return distribution([1.0 if each is None else each for each in single]) | {"mean": 1.0 if total is None else total}


def _cut(served: Served) -> bool:
    wave = served.wave
    return wave is not None and len(wave.spans) < len(wave.forwards)


def _hints(served: Sequence[Served]) -> Figures:
    waves = [s for s in served if s.wave is not None]
    if not waves:
        return {}
    used = [(s, s.polls[0]) for s in waves if s.polls]
    figures: Figures = {"hint_used": len(used) / len(served), "waves_cut": sum(map(_cut, waves)) / len(waves)}
    if used:
        figures["hint_arrival"] = distribution([(time - s.start) / NS for s, (time, _, _) in used])
        figures["hint_position"] = distribution([position for _, (_, position, _) in used])
    newest = [(s, s.polls[-1]) for s, _ in used if s.polls[-1][2] == max(s.timetable.rounds)]
    figures["last_hint_used"] = len(newest) / len(served)
    if newest:
        figures["last_hint_arrival"] = distribution([(time - s.start) / NS for s, (time, _, _) in newest])
        figures["last_hint_position"] = distribution([position for _, (_, position, _) in newest])
    published = [s.wave.publishes[0][1] - s.start for s in waves if s.wave is not None and s.wave.publishes]
    if published:
        figures["hint_published"] = distribution([ns / NS for ns in published])
    shares = [share for s in waves if (share := hidden(s)) is not None]
    if shares:
        figures["wave"] = distribution([sum(s.wave.ns) / NS for s in waves if s.wave is not None])
        figures["wave_hidden"] = distribution(shares)
    return figures


def _utilisation(replay: Replay) -> Distribution:
    """Share of the run in which devices worked: all that hold a target, and all that hold a sidecar.

    The run ends with the last commit: what a sidecar still does after it does not count.
    """
    run, targets = replay.makespan, {device.name for device in replay.devices.targets}
    all_spans: dict[str, list[Span]] = {device.name: [] for device in replay.devices.all}
    waves: dict[str, list[Span]] = {}
    for served in replay.served:
        all_spans[served.target] += [served.prefill, *((r.start, r.end) for r in served.rounds)]
        if served.wave is not None and served.wave.sidecar:
            all_spans[served.wave.sidecar] += served.wave.spans
            waves.setdefault(served.wave.sidecar, []).extend(served.wave.spans)
    shares = {"target": sum(_covered(all_spans[name], run) for name in targets) / (run * len(targets))}
    holders = (set(all_spans) - targets) or (targets if waves else set())
    if holders:
        shares["sidecar"] = sum(_covered(waves.get(name, []), run) for name in holders) / (run * len(holders))
    return shares


def _covered(spans: Sequence[Span], end: int) -> int:
    """Ns before ``end`` in which at least one of the spans runs."""
    covered = now = 0
    for begin, stop in sorted(spans):
        begin, stop = max(begin, now), min(stop, end)
        if stop > begin:
            covered, now = covered + stop - begin, stop
    return covered
